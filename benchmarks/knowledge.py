"""Writes a knowledge base with Wikidata's shape (knowwhen.reproduction.generated) as a dataset folder.

    python -m benchmarks.knowledge --entities 432715 --facts 7200000 --out big/

Prints its shape as JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from knowwhen.reproduction.generated import ENTITIES, FACTS, PREDICATES, dataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=ENTITIES)
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="the dataset folder to write")
    options = parser.parse_args()
    made = dataset(options.entities, options.facts, options.seed)
    if options.out:
        made.save(options.out)
    degrees = np.bincount(made.train.object, minlength=options.entities)
    shape = {
        "entities": options.entities,
        "facts": len(made.all_facts),
        "with_spans": int((~made.train.is_static).sum()),
    }
    print(json.dumps({**shape, "predicates": PREDICATES, "most_facts_of_an_object": int(degrees.max())}))


if __name__ == "__main__":
    main()

"""All tables and figures, in the order of the page."""

from __future__ import annotations

from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.reproduction.convergence import CONVERGENCE
from knowwhen.reproduction.dates import TIMES
from knowwhen.reproduction.evidence import BEST, EVIDENCE
from knowwhen.reproduction.field import FIELD
from knowwhen.reproduction.link_prediction import PARAMS, STDDEV, TABLE2
from knowwhen.reproduction.penalties import FIGURE1, GRID, TABLE3
from knowwhen.reproduction.published import PUBLISHED
from knowwhen.reproduction.sampling import SAMPLING
from knowwhen.reproduction.table import Table
from knowwhen.reproduction.table4 import TABLE4
from knowwhen.reproduction.times import FIGURE2, WIKIDATA

# A new table is one entry here.
TABLES = {
    t.name: t
    for t in (
        *(PARAMS, TABLE2, STDDEV, EVIDENCE, BEST, TABLE3, FIGURE1, GRID, FIGURE2, WIKIDATA, TIMES, TABLE4),
        *(CONVERGENCE, SAMPLING, PUBLISHED, FIELD),
    )
}


def table_named(name: str) -> Table:
    if name not in TABLES:
        raise BadRequest(f"no table {name!r}; there are {', '.join(TABLES)}{did_you_mean(name, TABLES)}")
    return TABLES[name]

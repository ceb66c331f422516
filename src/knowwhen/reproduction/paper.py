"""Numbers of Lacroix, Obozinski and Usunier, ICLR 2020, as printed."""

from __future__ import annotations

from typing import NamedTuple

MODELS = ("complex", "tcomplex", "tntcomplex")
DATASETS = ("icews14", "icews05-15", "yago15k")


class Scores(NamedTuple):
    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float


# Table 2 and the appendix's detailed results: (dataset, model, ranks times ten) -> test scores.
TABLE2: dict[tuple[str, str, bool], Scores] = {
    ("icews14", "complex", False): Scores(0.47, 0.35, 0.53, 0.70),
    ("icews14", "tcomplex", False): Scores(0.56, 0.47, 0.61, 0.73),
    ("icews14", "tntcomplex", False): Scores(0.56, 0.46, 0.61, 0.74),
    ("icews05-15", "complex", False): Scores(0.49, 0.37, 0.55, 0.72),
    ("icews05-15", "tcomplex", False): Scores(0.58, 0.49, 0.64, 0.76),
    ("icews05-15", "tntcomplex", False): Scores(0.60, 0.50, 0.65, 0.78),
    ("yago15k", "complex", False): Scores(0.35, 0.28, 0.35, 0.52),
    ("yago15k", "tcomplex", False): Scores(0.35, 0.27, 0.36, 0.52),
    ("yago15k", "tntcomplex", False): Scores(0.35, 0.28, 0.35, 0.52),
    ("icews14", "complex", True): Scores(0.47, 0.35, 0.54, 0.71),
    ("icews14", "tcomplex", True): Scores(0.61, 0.53, 0.66, 0.77),
    ("icews14", "tntcomplex", True): Scores(0.62, 0.52, 0.66, 0.76),
    ("icews05-15", "complex", True): Scores(0.49, 0.37, 0.55, 0.73),
    ("icews05-15", "tcomplex", True): Scores(0.66, 0.59, 0.71, 0.80),
    ("icews05-15", "tntcomplex", True): Scores(0.67, 0.59, 0.71, 0.81),
    ("yago15k", "complex", True): Scores(0.36, 0.29, 0.36, 0.54),
    ("yago15k", "tcomplex", True): Scores(0.36, 0.28, 0.38, 0.54),
    ("yago15k", "tntcomplex", True): Scores(0.37, 0.29, 0.39, 0.54),
}

# Table 3: penalties of TNTComplEx on ICEWS05-15 at ten times the base rank (ours is run on ICEWS14 at base rank).
TABLE3 = {
    "none": 0.62,
    "delta2": 0.63,
    "delta3": 0.63,
    "delta4": 0.64,
    "omega3": 0.65,
    "omega3+lambda4": 0.67,
}

# Table 4: MRR, NT-MRR and T-MRR on the paper's Wikidata, rank 100, objects only.
TABLE4 = {"complex": (0.45, 0.48, 0.29), "tcomplex": (0.42, 0.45, 0.30), "tntcomplex": (0.44, 0.47, 0.32)}

# Section 4: triples a second in training on Wikidata, on a Quadro GP100.
SPEED = {"complex": 5_800, "tntcomplex": 5_600}

# Section 5: TNTComplEx on Wikidata, with the loss over objects alone and with that over timestamps too.
MRR_LOST, AUC_PR = 0.01, (0.92, 0.98)

# Appendix: standard deviation of TNTComplEx's MRR over 5 runs.
STDDEV = {"icews14": 0.0016, "icews05-15": 0.0011, "yago15k": 0.00076}
STDDEV_WIKIDATA = (0.0035, 0.0012)  # of T-MRR and NT-MRR

# The table of datasets: |E|, |P| and |T| as the ranks were computed with; YAGO15k's 102 predicates count twice.
SIZES = {"icews14": (6869, 460, 365), "icews05-15": (10094, 502, 4017), "yago15k": (15403, 204, 170)}

# The appendix's grid search: ranks that match DE-SimplE in dimension 100.
RANKS = {
    "icews14": {"complex": 182, "tcomplex": 174, "tntcomplex": 156},
    "icews05-15": {"complex": 186, "tcomplex": 136, "tntcomplex": 128},
    "yago15k": {"complex": 196, "tcomplex": 194, "tntcomplex": 189},
}

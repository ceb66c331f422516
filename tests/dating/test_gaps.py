"""Scores of timestamps against their definition, one fact, anchor and timestamp after the other, in float64."""

import numpy as np
import pytest
import torch

from knowwhen.dating.gaps import COVER, IMPOSSIBLE, Facing, class_edges
from knowwhen.dating.neighbours import CAP, FAR
from tests.dating.conftest import P, T


def class_of(gap, edges):
    return sum(gap >= edge for edge in edges)


def naive(head, p, around, i, at, begin=None):
    """X[t] for question i, and the score of no end where a begin is given."""
    edges = head.edges.tolist()
    table = {name: getattr(head, name).detach() for name in ("own", "shared", "bias", "cover")}
    given = None if begin is None else int(at[begin])
    scores = table["bias"][p].clone()
    for side in (0, 1):
        slots = [j for j in range(side * CAP, (side + 1) * CAP) if around.kind[i, j] >= 0]
        weight = len(slots) ** -0.5 if slots else 0
        facts = [(int(around.kind[i, j]), int(around.begin[i, j]), int(around.end[i, j]), j) for j in slots]
        alike = [(b, e) for k, b, e, _ in facts if k % (2 * P) == p + side * P and b < FAR and e < FAR]
        later = [b for k, b, e, _ in facts if k in (p, p + 3 * P) and given is not None and given < b < FAR]
        for kind, b, e, j in facts:
            anchors = [b, e]
            if given is None:
                contexts = [int(around.before[i, j]), int(around.after[i, j])]
            else:
                anchors.append(given + e - b if b < FAR and e < FAR else FAR)
                is_next = kind in (p, p + 3 * P) and b < FAR and later and b == min(later)
                contexts = [5 if is_next else relation(given, b, e)] * 3
            pair = np.flatnonzero(head.pairs.numpy() == p * 8 * P + kind)
            for a, (anchor, context) in enumerate(zip(anchors, contexts, strict=True)):
                if anchor >= FAR:
                    continue
                for t in range(T):
                    c = class_of(int(at[t]) - anchor, edges)
                    for row, rows in ((kind, table["shared"]), *(((int(pair[0]), table["own"]),) if len(pair) else ())):
                        place = (row * head.anchors + a) * (head.contexts + 1)
                        scores[t] += weight * (rows[place, c] + rows[place + 1 + context, c])
        for t in range(T):
            x = int(at[t])
            inside = min(sum(b < x < e for b, e in alike), 2)
            code = inside * 4 + 2 * any(e == x for _, e in alike) + any(b == x for b, _ in alike)
            since = 0 if given is None else min(sum(given < b < x for b, _ in alike), 2)
            scores[t] += table["cover"][((p * 2 + side) * COVER + code) * 3 + since]
    if given is None:
        return scores
    length, still = head.length.detach(), head.open.detach()
    for t in range(T):
        scores[t] = scores[t] + length[p, class_of(int(at[t]) - given, edges)] if at[t] >= given else IMPOSSIBLE
    return torch.cat([scores, still[p, class_of(int(at[-1]) - given, edges)][None]])


def relation(given, b, e):
    if b < FAR and given < b:
        return 0
    if e < FAR and given > e:
        return 4
    if e < FAR and given == e and given > b:
        return 3
    if b < FAR and given == b:
        return 1
    if b < FAR and given > b:
        return 2
    return 6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ends", [False, True])
def test_scores_are_their_definition(world, seed, ends):
    data, asked, near, head = world(seed, ends)
    some = np.flatnonzero(data.train.begin >= 0)[:8]
    around, at = near.around(asked[some]), data.timeline.positions
    facing = Facing(around)
    facing.weight = facing.weight.double()
    begin = torch.from_numpy(data.train.begin[some]) if ends else None
    p = torch.from_numpy(asked.predicate[some])
    found = head(p, facing, torch.from_numpy(at.copy()), begin)
    for i, row in enumerate(some.tolist()):
        expected = naive(head, int(p[i]), around, i, at, int(data.train.begin[row]) if ends else None)
        torch.testing.assert_close(found[i], expected, rtol=1e-6, atol=1e-6)  # weights are float32


def test_what_each_fact_says_adds_up(world):
    data, asked, near, head = world(0, ends=False)
    facing = Facing(near.around(asked[:5]))
    axis, p = torch.from_numpy(data.timeline.positions.copy()), torch.from_numpy(asked.predicate[:5].copy())
    each = head.along(p, facing, axis, None, each=True)
    torch.testing.assert_close(each.sum(1), head.along(p, facing, axis, None)[:, 0])


def test_a_time_that_came_after_training_takes_the_bias_of_the_last_before_it(world):
    data, _, _, head = world(0, ends=False)
    longer = torch.from_numpy(np.append(data.timeline.positions, [data.timeline.positions[-1] + 30]))
    assert head._places(longer).tolist() == [*range(T), T - 1]


def test_classes_are_fine_near_zero_and_end_with_the_axis():
    assert class_edges(4).tolist() == [-4, -3, -2, -1, 0, 1, 2, 3, 4]
    assert class_edges(100_000)[-1] == 3650

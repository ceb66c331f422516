"""The tensor of every model once more, naively: loops and einsums in float64 over all its tables."""

import math

import torch


def static(X, T):  # (E, 2P, E) -> (E, 2P, E, T)
    return X[..., None].expand(-1, -1, -1, T)


def naive_complex(m, c, T):
    return static(torch.einsum("sr,pr,or->spo", c["u"], c["v"], c["u"].conj()).real, T)


def naive_tcomplex(m, c, T):
    return torch.einsum("sr,pr,or,tr->spot", c["u"], c["v"], c["u"].conj(), c["w"]).real


def naive_tntcomplex(m, c, T):
    temporal = torch.einsum("sr,pr,or,tr->spot", c["u"], c["v_"], c["u"].conj(), c["w"]).real
    return temporal + naive_complex(m, c, T)


def naive_timeplex(m, c, T):
    u, o = c["u"], c["u"].conj()
    timed = torch.einsum("pr,or,tr->pot", c["z"], o, c["w"]).real
    return naive_complex(m, c, T) + torch.einsum("sr,or,tr->sot", u, o, c["w"]).real[:, None] + timed


def naive_unioncomplex(m, c, T):
    modulated = torch.einsum("sr,pr,or,tr->spot", c["u"], c["v_"], c["u"].conj(), c["w_"]).real
    return naive_timeplex(m, c, T) + modulated


def naive_cp(m, c, T):
    return static(torch.einsum("sr,pr,or->spo", c["u"], c["v"], c["w"]), T)


def naive_distmult(m, c, T):
    return static(torch.einsum("sr,pr,or->spo", c["u"], c["v"], c["u"]), T)


def naive_transe(m, c, T):
    gap = c["u"][:, None, None] + c["v"][None, :, None] - c["u"][None, None]  # (E, 2P, E, r)
    X = gap.abs().sum(-1) if m.options.norm == 1 else (gap**2).sum(-1).sqrt()
    return static(-X, T)


def naive_desimple(m, c, T):
    h, k, v = diachronic(m, c, T, "head"), diachronic(m, c, T, "tail"), c["v"]
    inverse = torch.roll(v, m.sizes.predicates, dims=0)  # of p < P it is that of p + P, and the other way round
    forward, backward = (torch.einsum("str,pr,otr->spot", a, b, z) for a, b, z in ((h, v, k), (k, inverse, h)))
    return (forward + backward) / 2


def naive_tucker(m, c, T):
    def normal(x, norm):
        return (x - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias

    mixed = torch.einsum("sk,pj,jkl->spl", normal(c["u"], m.norm0), c["v"], c["core"])
    return static(torch.einsum("spl,ol->spo", normal(mixed, m.norm1), c["u"]), T)


def naive_rgcn(m, c, T):
    E, R = m.sizes.entities, 2 * m.sizes.predicates
    edges = [(key // (R * E), key // E % R, key % E) for key in m.keys.tolist()]
    h = c["x"]
    for layer in range(m.options.layers):
        weights = torch.einsum("pb,bkl->pkl", c[f"shares_{layer}"], c[f"bases_{layer}"])
        rows = []
        for i in range(E):
            to = [(p, j) for target, p, j in edges if target == i]
            rows.append(
                h[i] @ c[f"own_{layer}"] + sum((h[j] @ weights[p] for p, j in to), torch.zeros(1)) / max(1, len(to))
            )
        h = torch.stack(rows)
        h = h.relu() if layer + 1 < m.options.layers else h
    return static(torch.einsum("sr,pr,or->spo", h, c["v"], h), T)


def far(gap, norm):
    return gap.abs().sum(-1) if norm == 1 else (gap**2).sum(-1).sqrt()


def naive_ttranse(m, c, T):
    gap = c["u"][:, None, None, None] + c["v"][None, :, None, None] + c["w"] - c["u"][None, None, :, None]
    return -far(gap, m.options.norm)


def onto(x, n):
    n = n / n.norm()
    return x - torch.dot(n, x) * n


def each(m, T, value):
    """X[s, p, o, t] = value(s, p, o, t), one by one."""
    E, P = m.sizes.entities, m.sizes.predicates
    cells = [value(s, p, o, t) for s in range(E) for p in range(2 * P) for o in range(E) for t in range(T)]
    return torch.stack(cells).view(E, 2 * P, E, T)


def naive_transh(m, c, T):
    def value(s, p, o, t):
        n = c["n"][p]
        return -far(onto(c["u"][s], n) + c["v"][p] - onto(c["u"][o], n), m.options.norm)

    return each(m, T, value)


def naive_hyte(m, c, T):
    def value(s, p, o, t):
        subject, predicate, object = (onto(x, c["w"][t]) for x in (c["u"][s], c["v"][p], c["u"][o]))
        return -far(subject + predicate - object, m.options.norm)

    return each(m, T, value)


def naive_transd(m, c, T):
    def moved(e, p):
        return (torch.outer(c["z"][p], c["a"][e]) + torch.eye(m.options.rank)) @ c["u"][e]

    return each(m, T, lambda s, p, o, t: -far(moved(s, p) + c["v"][p] - moved(o, p), m.options.norm))


def naive_stranse(m, c, T):
    def value(s, p, o, t):
        return -far(c["A"][p] @ c["u"][s] + c["v"][p] - c["B"][p] @ c["u"][o], m.options.norm)

    return each(m, T, value)


def naive_rotate(m, c, T):
    turned = torch.complex(c["theta"].cos(), c["theta"].sin())
    gap = c["u"][:, None, None] * turned[None, :, None] - c["u"][None, None]
    return static(-far(gap.abs(), m.options.norm), T)


def naive_tero(m, c, T):
    u = c["u"][:, None] * torch.complex(c["omega"].cos(), c["omega"].sin())  # (E, T, r)
    gap = u[:, None, None] + c["v"][None, :, None, None] - u.conj()[None, None]
    return -far(gap.abs(), m.options.norm)


def naive_simple(m, c, T):
    (h, k), v = c["u"].chunk(2, -1), c["v"]
    inverse = torch.roll(v, m.sizes.predicates, dims=0)
    forward, backward = (torch.einsum("sr,pr,or->spo", a, b, z) for a, b, z in ((h, v, k), (k, inverse, h)))
    return static((forward + backward) / 2, T)


def naive_hole(m, c, T):
    r = m.options.rank

    def value(s, p, o, t):
        a, b, v = c["u"][s], c["u"][o], c["v"][p]
        return sum(v[k] * a[i] * b[(i + k) % r] for k in range(r) for i in range(r))

    return each(m, T, value)


def naive_rescal(m, c, T):
    return static(torch.einsum("si,pij,oj->spo", c["u"], c["R"], c["u"]), T)


def naive_asalsan(m, c, T):
    return torch.einsum("si,ti,pij,tj,oj->spot", c["u"], c["w"], c["R"], c["w"], c["u"])


def naive_cont(m, c, T):
    return torch.einsum("sa,pb,oc,tabc->spot", c["u"], c["v"], c["w"], c["G"])


def naive_chronor(m, c, T):
    P = len(c["v"])
    v, w = c["v"][:, None].expand(-1, T, -1), c["w"][None].expand(P, -1, -1)
    return torch.einsum("sr,ptr,pr,or->spot", c["u"], torch.cat([v, w], -1), c["z"], c["u"].conj()).real


# Multivectors as matrices: e₁ and e₂ are two that square to one and anticommute; half the trace is the scalar part.
E1, E2 = torch.tensor([[1.0, 0], [0, -1]]).double(), torch.tensor([[0, 1.0], [1, 0]]).double()
BASIS = torch.stack([torch.eye(2).double(), E1, E2, E1 @ E2])  # (4, 2, 2)


def naive_telm(m, c, T):
    u, v, w = (torch.einsum("nkr,kij->nrij", c[name].unflatten(-1, (4, -1)), BASIS) for name in ("u", "v", "w"))
    signs = torch.tensor([1.0, -1, -1, -1]).double()
    conjugate = torch.einsum("nkr,k,kij->nrij", c["u"].unflatten(-1, (4, -1)), signs, BASIS)
    return torch.einsum("srij,prjk,trkl,orli->spot", u, v, w, conjugate) / 2


def naive_teast(m, c, T):
    spiral = c["phi"].abs().sin() * complex(1, 1)
    timed = torch.einsum("sr,tr,or->sot", c["u"], spiral, c["u"].conj()).real
    return math.pi * naive_tcomplex(m, c, T) + timed[:, None]


def diachronic(m, c, T, side):  # (E, T, r)
    rows = []
    for t in range(T):
        units = m.calendar[t].tolist()
        waves = [
            c[f"{side}_amplitude"][:, i] * torch.sin(c[f"{side}_frequency"][:, i] * unit + c[f"{side}_phase"][:, i])
            for i, unit in enumerate(units)
        ]
        rows.append(torch.cat([c[f"{side}_static"], sum(waves)], dim=-1))
    return torch.stack(rows, dim=1)


def naive_dedistmult(m, c, T):
    h = diachronic(m, c, T, "entity")
    return torch.einsum("str,pr,otr->spot", h, c["v"], h)


def naive_detranse(m, c, T):
    h = diachronic(m, c, T, "entity")
    return -far(h[:, None, None] + c["v"][None, :, None, None] - h[None, None], 2)


def read_dates(m, c, T):  # (2P, T, r)
    """An LSTM a step at a time, for one predicate and one date."""
    rows = []
    for p in range(len(c["v"])):
        for t in range(T):
            year, month, day = (int(unit) for unit in m.calendar[t])
            digits = [int(digit) for digit in f"{year:04}"] + [10 + month] + [23 + int(digit) for digit in f"{day:02}"]
            h = cell = torch.zeros_like(c["v"][p])
            for word in (c["v"][p], *(c["tokens"][digit] for digit in digits)):
                forget, enter, leave, value = (word @ c["input"] + h @ c["recurrent"] + c["bias"]).chunk(4)
                cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * value
                h = torch.sigmoid(leave) * cell
            rows.append(h)
    return torch.stack(rows).view(len(c["v"]), T, -1)


def naive_tadistmult(m, c, T):
    return torch.einsum("sr,ptr,or->spot", c["u"], read_dates(m, c, T), c["u"])


def naive_tatranse(m, c, T):
    return -far(c["u"][:, None, None, None] + read_dates(m, c, T)[:, None] - c["u"][:, None], 2)


def naive_tuckertnt(m, c, T):
    timed = torch.einsum("sk,pi,ol,tj,ijkl->spot", c["u"], c["v_"], c["u"], c["w"], c["core"])
    return timed + static(torch.einsum("sk,pi,ol,ijkl->spo", c["u"], c["v"], c["u"], c["core"]), T)


def naive_boxte(m, c, T):
    def dist(x, corners):
        low, high = torch.minimum(*corners), torch.maximum(*corners)
        middle, width = (low + high) / 2, high - low + 1
        kappa = (width - 1) / 2 * (width - 1 / width)
        inside = (low <= x) & (x <= high)
        return torch.where(inside, (x - middle).abs() / width, (x - middle).abs() * width - kappa)

    def value(s, p, o, t):
        move = sum(a * w for a, w in zip(c["a"][p], c["w"][t], strict=True))
        first = dist(c["u"][s] + c["b"][o] + move, c["head"][p])
        return -far(first, m.options.norm) - far(dist(c["u"][o] + c["b"][s] + move, c["tail"][p]), m.options.norm)

    return each(m, T, value)


def naive_latent(m, c, T):
    degree, knots = m.degree.double(), m.options.knots

    def place(e, t):
        first, last = m.span.tolist()
        at = min(1, (int(m.positions[t]) - first) / max(1, last - first)) * (knots - 1)
        k = min(int(at), knots - 2)
        return c["x"][e, k] + (at - k) * (c["x"][e, k + 1] - c["x"][e, k])

    def value(s, p, o, t):
        stretch = c["z"][p] if m.options.per_predicate else 1
        d = torch.linalg.vector_norm(stretch * (place(s, t) - place(o, t)))  # its slope at 0 is 0
        r = m.options.radius * (max(degree[s], degree[o]) + 1) / (degree.mean() + 1)
        near = (1 - (d / r) ** 2) ** 2 if d < r else torch.zeros_like(d)
        return (near / (1 + torch.exp(d - r)) + (1 - near) * m.options.noise).log()

    return each(m, T, value)


NAIVE = {name.removeprefix("naive_"): one for name, one in list(globals().items()) if name.startswith("naive_")}

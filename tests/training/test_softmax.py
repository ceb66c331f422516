"""cross_entropy against the naive F.cross_entropy: value, gradients, pieces, tiles, precision, memory."""

import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.training import softmax
from knowwhen.training.softmax import cross_entropy, fast_bf16, release_memory

sizes = st.tuples(st.integers(1, 7), st.integers(1, 40), st.integers(1, 5))  # b, E, d
seeds = st.integers(0, 2**31)


def problem(b, E, d, seed=0, dtype=torch.float64, spread=1.0):
    g = torch.Generator().manual_seed(seed)
    query = (spread * torch.randn(b, d, generator=g, dtype=torch.float64)).to(dtype).requires_grad_()
    candidates = torch.randn(E, d, generator=g, dtype=torch.float64).to(dtype).requires_grad_()
    return query, candidates, torch.randint(E, (b,), generator=g)


def cells(b, E, count, seed):
    g = torch.Generator().manual_seed(seed)
    rows, columns = torch.randint(b, (count,), generator=g), torch.randint(E, (count,), generator=g)
    return rows, columns, torch.randn(count, generator=g, dtype=torch.float64, requires_grad=True)


def naive(query, candidates, targets, extra=None):
    X = query @ candidates.T
    if extra is not None:
        rows, columns, values = extra
        X = X.index_put((rows, columns), values, accumulate=True)
    return torch.nn.functional.cross_entropy(X, targets)


def solved(function, query, candidates, targets, *, upstream=1.0, **options):
    """The loss and the gradients of query, candidates and, where given, the extra values."""
    leaves = [query, candidates, *([options["extra"][2]] if options.get("extra") else [])]
    loss = function(query, candidates, targets, **options)
    return [loss.detach(), *torch.autograd.grad(upstream * loss, leaves)]


@pytest.fixture(params=[1, 96, softmax.TILE_BYTES], ids=["tile of one entity", "tiles", "one tile"])
def tile_bytes(request, monkeypatch):
    monkeypatch.setattr(softmax, "TILE_BYTES", request.param)


@pytest.mark.usefixtures("tile_bytes")
@given(
    size=sizes, seed=seeds, upstream=st.sampled_from([1.0, 3.0, -0.5]), chunk_bytes=st.sampled_from([1, 200, 1 << 20])
)
def test_value_and_gradients_are_those_of_the_naive_formula(size, seed, upstream, chunk_bytes):
    case = problem(*size, seed)
    ours = solved(cross_entropy, *case, upstream=upstream, chunk_bytes=chunk_bytes)
    assert_close(ours, solved(naive, *case, upstream=upstream))


@pytest.mark.usefixtures("tile_bytes")
@given(size=sizes, seed=seeds, count=st.integers(0, 30), chunk_bytes=st.sampled_from([1, 1 << 20]))
def test_sparse_scores_add_to_the_cells_they_name(size, seed, count, chunk_bytes):
    case, extra = problem(*size, seed), cells(*size[:2], count, seed)
    ours = solved(cross_entropy, *case, extra=extra, chunk_bytes=chunk_bytes)
    assert_close(ours, solved(naive, *case, extra=extra))


def test_pieces_of_one_row_equal_the_whole_in_float32():
    case = problem(33, 1000, 16, dtype=torch.float32)
    assert_close(solved(cross_entropy, *case, chunk_bytes=1), solved(cross_entropy, *case))


@pytest.mark.usefixtures("tile_bytes")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_of_ten_thousand_neither_overflow_nor_vanish(dtype):
    query, candidates, targets = problem(20, 50, 4, dtype=dtype, spread=1e4)
    with torch.no_grad():
        targets[::2] = (query @ candidates.T).argmax(1)[::2]  # half right with certainty, half hopelessly wrong
        candidates[0] = 0  # and a first tile far below the maximum
    ours, theirs = solved(cross_entropy, query, candidates, targets), solved(naive, query, candidates, targets)
    assert all(x.isfinite().all() for x in ours)
    assert_close(ours, theirs, rtol=1e-5, atol=1e-5 * 1e4)
    assert_close(ours[1], theirs[1], rtol=1e-4, atol=1e-5)


def test_a_certain_target_keeps_its_small_gradient():
    # p_target - 1 is -1e-11, below float32's resolution at 1: the naive gradient at the target is lost.
    query, candidates = torch.tensor([[1.0]]), torch.tensor([[25.0], [0.0]], requires_grad=True)
    cross_entropy(query, candidates, torch.tensor([0])).backward()
    assert_close(candidates.grad, torch.exp(torch.tensor([[-25.0]])) * torch.tensor([[-1.0], [1.0]]), rtol=1e-5, atol=0)


@pytest.mark.usefixtures("tile_bytes")
def test_bf16_products_are_close_and_give_float32_gradients():
    case = problem(8, 40, 16, dtype=torch.float32, spread=0.3)
    ours, exact = solved(cross_entropy, *case, precision="bf16", chunk_bytes=500), solved(naive, *case)
    assert all(x.dtype == torch.float32 for x in ours)
    for x, y in zip(ours, exact, strict=True):
        assert (x - y).norm() < 0.02 * y.norm()
        assert (x - y).norm() > 1e-5 * y.norm()  # it was bf16 indeed


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.usefixtures("tile_bytes")
def test_tables_of_low_precision_get_gradients_of_their_own_dtype(dtype):
    case = problem(8, 40, 16, dtype=dtype, spread=0.3)
    exact = solved(naive, *(x.detach().double().requires_grad_() for x in case[:2]), case[2])
    ours = solved(cross_entropy, *case)
    assert [x.dtype for x in ours] == [torch.float32, dtype, dtype]
    for x, y in zip(ours, exact, strict=True):
        assert (x - y).norm() < 0.02 * y.norm()


def test_calls_of_other_shapes_between_do_not_matter():
    first, second = problem(9, 30, 4, seed=1), problem(5, 70, 6, seed=2)
    once = solved(cross_entropy, *first)
    kept = [x.clone() for x in once]
    solved(cross_entropy, *second, precision="bf16")
    assert_close(solved(cross_entropy, *first), kept, rtol=0, atol=0)


def test_a_gradient_someone_holds_is_not_overwritten():
    held = solved(cross_entropy, *problem(9, 30, 4, seed=1))
    kept = [x.clone() for x in held]
    for seed in range(2, 5):
        solved(cross_entropy, *problem(9, 30, 4, seed))
    assert_close(held, kept, rtol=0, atol=0)


def test_gradients_accumulate_over_two_losses():
    query, candidates, targets = problem(9, 30, 4)
    for _ in range(2):
        cross_entropy(query, candidates, targets).backward()
    (_, grad_query, grad_candidates) = solved(naive, query, candidates, targets)
    assert_close([query.grad, candidates.grad], [2 * grad_query, 2 * grad_candidates])


def test_a_dropped_gradients_memory_is_used_again_until_released():
    query, candidates, targets = problem(9, 30, 4)
    release_memory()
    blocks = []
    for _ in range(3):
        candidates.grad = None
        cross_entropy(query, candidates, targets).backward()
        blocks.append(softmax._memory.blocks["gradient"][0])
        assert candidates.grad.data_ptr() == blocks[0].data_ptr()  # autograd took it without a copy
    assert blocks[0] is blocks[1] is blocks[2]
    release_memory()
    assert not softmax._memory.blocks


def test_threads_do_not_share_buffers():
    case = problem(50, 300, 8)
    expected, wrong = solved(naive, *case), []

    def work():
        for _ in range(20):
            ours = solved(cross_entropy, *case)
            wrong.extend(not torch.allclose(x, y) for x, y in zip(ours, expected, strict=True))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 3 * 20 * 3 and not any(wrong)


def test_without_gradients_the_value_is_the_same():
    query, candidates, targets = problem(9, 30, 4)
    release_memory()
    with torch.no_grad():
        loss = cross_entropy(query, candidates, targets)
    assert not loss.requires_grad
    assert set(softmax._memory.blocks) == {"logits"}  # none was computed
    assert_close(loss, naive(query, candidates, targets).detach())
    assert_close(cross_entropy(query.detach(), candidates.detach(), targets), loss)


@pytest.mark.parametrize("frozen", [0, 1])
def test_a_frozen_input_gets_no_gradient(frozen):
    query, candidates, targets = problem(9, 30, 4)
    leaf, still = (candidates, query) if frozen == 0 else (query, candidates)
    _, *expected = solved(naive, query, candidates, targets)
    still.requires_grad_(requires_grad=False)
    release_memory()
    cross_entropy(query, candidates, targets).backward()
    assert still.grad is None
    assert ("gradient" in softmax._memory.blocks) == (leaf is candidates)
    assert_close(leaf.grad, expected[1 - frozen])


def test_a_second_backward_is_refused():
    loss = cross_entropy(*problem(3, 5, 2))
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="gives its gradients once"):
        loss.backward()


@pytest.mark.parametrize("target", [-1, 30])
def test_a_target_outside_the_table_is_an_error(target):
    query, candidates, targets = problem(9, 30, 4)
    targets[3] = target
    with pytest.raises(IndexError, match="out of range"):
        cross_entropy(query, candidates, targets)


def test_scores_stay_within_the_given_bytes(monkeypatch):
    asked = []
    empty = softmax._memory.empty
    monkeypatch.setattr(
        softmax._memory,
        "empty",
        lambda use, shape, dtype, device: asked.append(shape) or empty(use, shape, dtype, device),
    )
    cross_entropy(*problem(64, 100, 4), chunk_bytes=8 * 100 * 10)
    assert asked == [(100, 4), (10 * 100,)]


def test_fast_bf16_is_known_for_the_cpu():
    capabilities = torch.cpu.get_capabilities()
    assert fast_bf16() == any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


@given(st.integers(0, 99), st.integers(1, 400))
def test_weights_of_rivals_are_those_of_the_definition(seed, chunk_bytes):
    """log(exp X[i, target] + Σ weight exp X[i, k]), value and gradients, also with cells and in pieces."""
    generator = torch.Generator().manual_seed(seed)
    query, candidates = (torch.randn(n, 3, generator=generator).double() for n in (4, 7))
    targets, weights = torch.randint(7, (4,), generator=generator), torch.rand(7, generator=generator).double() * 9 + 1
    rows, columns = torch.tensor([0, 2, 2]), torch.tensor([1, 3, 5])
    inputs = [query, candidates, torch.randn(3, generator=generator).double()]

    def naive(query, candidates, values):
        X = (query @ candidates.mT).index_put((rows, columns), values, accumulate=True)
        every = torch.arange(4)
        log_weights = weights.log().expand(4, 7).index_put((every, targets), torch.zeros(4).double())
        return ((X + log_weights).logsumexp(-1) - X[every, targets]).mean()

    def ours(query, candidates, values):
        cells = (rows, columns, values)
        return cross_entropy(query, candidates, targets, extra=cells, weights=weights, chunk_bytes=chunk_bytes)

    found, wanted = [], []
    for loss, gradients in ((ours, found), (naive, wanted)):
        leaves = [x.clone().requires_grad_() for x in inputs]
        value = loss(*leaves)
        value.backward()
        gradients += [value.detach(), *(x.grad for x in leaves)]
    for mine, theirs in zip(found, wanted, strict=True):
        assert_close(mine, theirs)

"""Questions that arrive together are answered in one pass over the entities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Gatherer(Generic[Asked, Answer]):
    """Gathers what is asked while a thread is busy with what was asked before; that is the next batch.

    A question that comes alone does not wait. Where the last batch had several, those who asked it are probably about
    to ask again: the next waits until it is as large, but for `window` seconds at most.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Asked]], Sequence[Answer | Exception]],
        pool: Executor,
        *,
        window: float,
        most: int,
    ) -> None:
        self._answer, self._pool, self._window, self._most = answer, pool, window, most
        self._pending: list[tuple[Asked, asyncio.Future[Answer]]] = []
        self._expected = 1
        self._full = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, asked: Asked) -> Answer:
        """The answer to what is asked, once its batch is answered; an error is that of this question alone."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending.append((asked, future))
        if len(self._pending) >= self._expected:
            self._full.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._pending:
            await self._gather()
            batch, self._pending = self._pending[: self._most], self._pending[self._most :]
            batch = [one for one in batch if not one[1].done()]  # of those who went away nothing is worked out
            self._expected = len(batch)
            if not batch:
                continue
            asked = [one for one, _ in batch]
            try:
                found = await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, asked)
            except Exception as error:
                found = [error] * len(batch)
            for (_, future), answer in zip(batch, found, strict=True):
                if future.done():
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    async def _gather(self) -> None:
        if len(self._pending) >= self._expected or not self._window:
            return
        self._full.clear()
        try:
            async with asyncio.timeout(self._window):
                await self._full.wait()
        except TimeoutError:
            pass

/** Tables of requests and their expected outcomes. */
import type { Test } from 'tap';
import { eventually } from '#test/e2e/harness.js';
import { answerMs, type Place } from '#test/e2e/traffic/place.js';
import type { Report, Target } from '#test/e2e/traffic/protocol.js';

/** A request and its expected outcome. */
export interface Row {
  readonly from: Place;
  readonly to: Target;
  /** Pods that must answer, each at least once. Empty: no answer is expected. */
  readonly expect: readonly string[];
  /** Where no answer is expected: whether packets are dropped or connections refused. */
  readonly how?: 'timeout' | 'ECONNREFUSED';
  /** The client address that servers must see; further ones are allowed, since a pod may reach itself. */
  readonly client?: string | undefined;
  readonly what: string;
}

/** How long to wait for an answer that must not come; ms. */
const droppedMs = 700;

/** How the outcome differs from the expected one; undefined if it does not. */
function problemOf({ client, expect, how }: Row, { answers, clients, failures }: Report): string | undefined {
  if (expect.length === 0) {
    const [failure] = failures;
    if (failure === undefined) return `answered: ${Object.keys(answers)}`;
    return how === undefined || failure.why === how ? undefined : `failed with ${failure.why}`;
  }
  if (failures.length > 0) return `failed with ${failures[0]?.why} after ${JSON.stringify(answers)}`;
  const expected = [...expect].sort().join();
  const actual = Object.keys(answers).sort().join();
  if (actual !== expected) return `answered: ${actual} instead of ${expected}`;
  return client === undefined || clients.includes(client) ? undefined : `clients: ${clients} without ${client}`;
}

/** Checks all rows in parallel, with time for rules that are still missing. */
export async function check(t: Test, rows: readonly Row[]): Promise<void> {
  await Promise.all(
    rows.map(async (row) => {
      const timeoutMs = row.expect.length === 0 ? droppedMs : answerMs;
      let problem: string | undefined = 'not asked';
      await eventually(row.what, async () => {
        problem = problemOf(row, await row.from.ask(row.to, { expect: row.expect, timeoutMs }));
        return problem === undefined;
      }).catch(() => undefined);
      const { address, port, protocol } = row.to;
      t.equal(problem, undefined, `${row.what}: ${row.from.name} → ${protocol} ${address} ${port}`);
    }),
  );
}

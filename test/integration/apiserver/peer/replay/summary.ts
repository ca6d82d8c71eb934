/** Counts differing answers by file and kind of difference. */
import { type Difference, kinds } from '#test/integration/apiserver/peer/differences.js';
import type { RecordedAnswer } from '#test/integration/apiserver/peer/recording.js';

interface Row {
  answers: number;
  differing: number;
  deliberate: number;
  readonly byKind: Map<string, number>;
}

export class Summary {
  readonly #rows = new Map<string, Row>();
  /** Answers with a message, and those whose message differs or is absent. */
  messages = 0;
  differingMessages = 0;

  get answers(): number {
    return [...this.#rows.values()].reduce((sum, { answers }) => sum + answers, 0);
  }

  /** Share of equal messages. */
  get agreement(): number {
    return this.messages === 0 ? 1 : 1 - this.differingMessages / this.messages;
  }

  count(
    file: string,
    { answer, all, open }: { answer: RecordedAnswer; all: readonly Difference[]; open: readonly Difference[] },
  ): void {
    const row = this.#rows.get(file) ?? { answers: 0, differing: 0, deliberate: 0, byKind: new Map<string, number>() };
    this.#rows.set(file, row);
    row.answers++;
    if (open.length > 0) row.differing++;
    else if (all.length > 0) row.deliberate++;
    for (const { kind } of open) row.byKind.set(kind, (row.byKind.get(kind) ?? 0) + 1);
    if (answer.kept.message === undefined) return;
    this.messages++;
    if (all.some(({ kind }) => kind === 'message' || kind === 'code')) this.differingMessages++;
  }

  /** As a readable table. */
  lines(): string[] {
    const cells = (values: readonly (string | number)[]) =>
      values.map((value, i) => (i === 0 ? String(value).padEnd(52) : String(value).padStart(11))).join('');
    const rows = [...this.#rows].map(([file, row]) =>
      cells([file, row.answers, row.deliberate, row.differing, ...kinds.map((kind) => row.byKind.get(kind) ?? 0)]),
    );
    const agreement = `${this.messages} messages, ${(this.agreement * 100).toFixed(1)} % of them agree`;
    return [cells(['file', 'answers', 'deliberate', 'to mend', ...kinds]), ...rows, agreement];
  }
}

/** Differences between the product's answers and the peer's. */
import type { KeptAnswer } from '#test/integration/apiserver/peer/answers.js';
import { sorted } from '#test/integration/apiserver/peer/changes.js';
import type { RecordedAnswer } from '#test/integration/apiserver/peer/recording.js';
import type { Answers } from '#test/integration/apiserver/peer/run-cases.js';

export const kinds = [
  'code',
  'reason',
  'message',
  'details',
  'changes',
  'text',
  'contentType',
  'warnings',
  'managers',
] as const;

export type DifferenceKind = (typeof kinds)[number];

export interface Difference {
  readonly kind: DifferenceKind;
  readonly expected: unknown;
  readonly actual: unknown;
}

export interface Comparison {
  /** Translates the peer's names to the dialect's; absent: they are the same. */
  readonly translate?: ((text: string) => string) | undefined;
  /** The server itself also writes to the objects at any time: their status and its manager are ignored. */
  readonly sharedWithServer?: boolean | undefined;
}

/** Differences of one answer. If the codes differ, nothing else is compared. Hashes cannot be translated. */
export function differences(
  recorded: RecordedAnswer,
  actual: Answers[number] | undefined,
  { translate, sharedWithServer = false }: Comparison = {},
): Difference[] {
  const expected: KeptAnswer =
    translate === undefined ? recorded.kept : (JSON.parse(translate(JSON.stringify(recorded.kept))) as KeptAnswer);
  const result: Difference[] = [];
  const compared = kinds.slice(0, recorded.stable ? undefined : 2);
  for (const kind of compared) {
    if (kind === 'managers') {
      if (translate === undefined && !sharedWithServer && recorded.managers !== actual?.managers) {
        result.push({ kind, expected: recorded.managers, actual: actual?.managers });
      }
      continue;
    }
    const shown = (answer: KeptAnswer | undefined) => comparable(answer, kind, sharedWithServer);
    if (JSON.stringify(shown(expected)) !== JSON.stringify(shown(actual?.kept))) {
      result.push({ kind, expected: shown(expected), actual: shown(actual?.kept) });
    }
    if (kind === 'code' && result.length > 0) return result;
  }
  return result;
}

function comparable(answer: KeptAnswer | undefined, kind: keyof KeptAnswer, sharedWithServer: boolean): unknown {
  if (kind === 'changes' && sharedWithServer) return withoutStatus(answer?.changes);
  // YAML sorts its members by name.
  if (kind === 'details') return sorted(answer?.details);
  if (kind === 'message') return answer?.message?.replaceAll(/"\{\\".*\}"/g, inOneOrder);
  return answer?.[kind];
}

/** An object quoted in a message: its members are compared in any order. */
function inOneOrder(quotedObject: string): string {
  try {
    return JSON.stringify(JSON.stringify(sorted(JSON.parse(JSON.parse(quotedObject) as string))));
  } catch {
    // It is not JSON.
    return quotedObject;
  }
}

function withoutStatus(changes: KeptAnswer['changes']): KeptAnswer['changes'] {
  if (changes === undefined) return undefined;
  return Object.fromEntries(Object.entries(changes).filter(([place]) => !/^(status\b|items$)/.test(place)));
}

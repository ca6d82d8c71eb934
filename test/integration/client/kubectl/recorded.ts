import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Answer } from '#test/integration/client/kubectl/answer.js';

/** Path of the recorded answers. */
export const recordedFile = fileURLToPath(
  new URL('../../../../../test/integration/client/kubectl/recorded.json', import.meta.url),
);

/** The answers in the order of the table, with their commands. */
export function recordedAnswers(): [command: string, answer: Answer][] {
  const all = JSON.parse(readFileSync(recordedFile, 'utf8')) as Record<string, Answer>[];
  return all.flatMap((each) => Object.entries(each));
}

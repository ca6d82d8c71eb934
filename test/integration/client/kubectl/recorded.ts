import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Answer } from '#test/integration/client/kubectl/answer.js';
import type { TableName } from '#test/integration/client/kubectl/table.js';

/** Path of the recorded answers to a table. */
export function recordedFile(table: TableName): string {
  const folder = new URL('../../../../../test/integration/client/kubectl/', import.meta.url);
  return fileURLToPath(new URL(`recorded-${table}.json`, folder));
}

/** The answers in the order of the table, with their commands. */
export function recordedAnswers(table: TableName): [command: string, answer: Answer][] {
  const all = JSON.parse(readFileSync(recordedFile(table), 'utf8')) as Record<string, Answer>[];
  return all.flatMap((each) => Object.entries(each));
}

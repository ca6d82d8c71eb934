/** The examples of docs/helm-examples.md: values files, and objects of the host. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '#test/e2e/harness.js';

export interface Example {
  /** Heading above it. */
  readonly title: string;
  readonly values: Readonly<Record<string, unknown>>;
}

interface Examples {
  readonly values: readonly Example[];
  /** YAML of objects for the host. */
  readonly objects: readonly string[];
}

export function chartExamples(): Examples {
  const page = readFileSync(join(root, 'docs', 'helm-examples.md'), 'utf8');
  const values: Example[] = [];
  const objects: string[] = [];
  for (const section of page.split(/^#+ /m)) {
    const title = section.slice(0, section.indexOf('\n'));
    for (const [, text = ''] of section.matchAll(/```yaml\n([\s\S]*?)```/g)) {
      if (text.startsWith('apiVersion')) objects.push(text);
      else values.push({ title, values: parse(text) as Record<string, unknown> });
    }
  }
  return { values, objects };
}

/** One values file of several: maps are merged and lists joined, as an operator would write them. */
export function joined(all: readonly unknown[]): unknown {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (all.every(Array.isArray)) return all.flat();
  if (!all.every(isMap)) return all.at(-1);
  const names = new Set(all.flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    [...names].map((name) => [name, joined(all.filter((each) => name in each).map((each) => each[name]))]),
  );
}

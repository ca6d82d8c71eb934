/** Objects that the chart renders, and what they show of values. Pure, except for `render`. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { root, run, tools } from '#test/e2e/harness.js';

export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
}

const folders = [...(process.env['PATH'] ?? '').split(delimiter), join(tools, 'bin')];

/** Path of the real helm, if there is one. */
export const helm = folders.map((folder) => join(folder, 'helm')).find((path) => existsSync(path));

export const noHelm = helm === undefined ? 'no helm on the PATH (hack/build-helm.sh builds one)' : undefined;

export const chart = join(root, 'charts', 'orch');

/** The cluster version for helm commands that ask no cluster. */
export const version = ['--kube-version', '1.24.0'];

/** Rejects with helm's own words. */
export async function render(...args: string[]): Promise<Rendered[]> {
  const { code, stdout, stderr } = await run(helm ?? '', ['template', 'x', chart, ...version, ...args]);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}

/** The field at `KIND/NAME PATH`; undefined for a missing object or field. Hooks come last. */
export function fieldAt(objects: readonly Rendered[], at: string): unknown {
  const [, kind, name = '', path = ''] = /^(\w+)\/(\S*) ?(.*)$/.exec(at) ?? [];
  const isHook = ({ metadata }: Rendered) => metadata.annotations?.['helm.sh/hook'] !== undefined;
  const [object] = objects
    .filter((each) => each.kind === kind && (name === '' || hasName(each, name)))
    .sort((a, b) => Number(isHook(a)) - Number(isHook(b)));
  let value: unknown = object;
  for (const step of path.split('.').filter((each) => each !== '')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function hasName({ metadata }: Rendered, name: string): boolean {
  return (
    metadata.name === name || /^(?:x-(?:orch|other)|mine)-/.exec(metadata.name)?.[0].concat(name) === metadata.name
  );
}

/** Whether a field shows what is expected: all fields of an object, or any element of a list. */
export function shows(field: unknown, expected: unknown): boolean {
  if (expected instanceof RegExp) return typeof field === 'string' && expected.test(field);
  if (Array.isArray(field)) {
    const all = Array.isArray(expected) ? expected : [expected];
    return all.every((one) => field.some((each) => shows(each, one)));
  }
  if (typeof expected !== 'object' || expected === null || typeof field !== 'object' || field === null)
    return field === expected;
  return Object.entries(expected).every(([name, value]) => shows((field as Record<string, unknown>)[name], value));
}

/** A values tree with `value` at the path; other parts of the tree are kept. */
export function withValue(
  values: Readonly<Record<string, unknown>>,
  path: readonly string[],
  value: unknown,
): Record<string, unknown> {
  const [first = '', ...rest] = path;
  if (rest.length === 0) return { ...values, [first]: value };
  const below = (values[first] ?? {}) as Record<string, unknown>;
  return { ...values, [first]: withValue(below, rest, value) };
}

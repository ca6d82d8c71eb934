/**
 * Finds state of modules: what lives as long as the process and changes. It would be shared by clusters in one process, and
 * would survive from one test to the next. Sources are as the formatter leaves them: what begins in the first column
 * belongs to the module.
 */

export interface ModuleState {
  readonly name: string;
  readonly line: number;
}

const declaration = /^(?:export )?(let|const) (\w+)\b([^\n]*)/gm;
/** What can be changed without a name of its own being assigned. */
const changeable = /= (?:await )?(?:new (\w+)|\[|\{)/;
/** Classes of the language whose instances are values. */
const values = new Set(['Error', 'RegExp', 'Script', 'TextDecoder', 'TextEncoder', 'URL']);
const collections = new Set(['Array', 'Map', 'Set', 'WeakMap', 'WeakSet', 'Uint8Array', 'Uint16Array', 'Uint32Array']);
const changes = 'add|clear|copyWithin|delete|fill|pop|push|reverse|set|shift|sort|splice|unshift';

/** In one file of TypeScript: variables, collections that are changed in it, and instances of classes of ours. */
export function moduleState(source: string): ModuleState[] {
  const found: ModuleState[] = [];
  for (const { 1: keyword, 2: name = '', 3: rest = '', index } of source.matchAll(declaration)) {
    const [, made] = changeable.exec(rest) ?? [undefined, undefined];
    const isState =
      keyword === 'let' ||
      (made !== undefined && !values.has(made) && !collections.has(made)) ||
      (changeable.test(rest) && isChanged(source, name));
    if (isState) found.push({ name, line: source.slice(0, index).split('\n').length });
  }
  return found;
}

function isChanged(source: string, name: string): boolean {
  const called = new RegExp(`(?<![\\w.#])${name}\\??\\.(?:${changes})\\(`);
  const assigned = new RegExp(`(?<![\\w.#])${name}(?:\\.\\w+|\\[[^\\]\\n]+\\])+ (?:=|\\?\\?=|\\|\\|=|\\+=|-=) `);
  return called.test(source) || assigned.test(source);
}

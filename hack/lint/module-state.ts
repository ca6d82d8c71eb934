/**
 * Finds state of modules: values that live as long as the process and change. Clusters in one process would share them, and
 * they would survive from one test to the next. In formatted sources, a declaration in the first column belongs to the module.
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
  const states: ModuleState[] = [];
  for (const { 1: keyword, 2: name = '', 3: rest = '', index } of source.matchAll(declaration)) {
    const [, className] = changeable.exec(rest) ?? [undefined, undefined];
    const isState =
      keyword === 'let' ||
      (className !== undefined && !values.has(className) && !collections.has(className)) ||
      (changeable.test(rest) && isChanged(source, name));
    if (isState) states.push({ name, line: source.slice(0, index).split('\n').length });
  }
  return states;
}

function isChanged(source: string, name: string): boolean {
  const called = new RegExp(`(?<![\\w.#])${name}\\??\\.(?:${changes})\\(`);
  const assigned = new RegExp(`(?<![\\w.#])${name}(?:\\.\\w+|\\[[^\\]\\n]+\\])+ (?:=|\\?\\?=|\\|\\|=|\\+=|-=) `);
  return called.test(source) || assigned.test(source);
}

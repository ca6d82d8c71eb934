import t from 'tap';
import { moduleState } from './module-state.js';

const names = (source: string): string[] => moduleState(source).map(({ name }) => name);

t.test('what changes is state', (t) => {
  t.same(moduleState('const a = 1;\nlet b = 1;\n'), [{ name: 'b', line: 2 }]);
  t.same(names('export const known = new Map<string, number>();\nknown.set("a", 1);\n'), ['known']);
  t.same(names('const known = new WeakSet();\nfunction f(o) {\n  known.add(o);\n}\n'), ['known']);
  t.same(names('const queue: string[] = [];\nfunction f() {\n  queue.push("a");\n}\n'), ['queue']);
  t.same(names('const seen = {};\nfunction f(name) {\n  seen[name] = 1;\n}\n'), ['seen']);
  t.same(names('const last = { n: 0 };\nfunction f() {\n  last.n += 1;\n}\n'), ['last']);
  t.same(names('const cache = new EdgeCache();\n'), ['cache']);
  t.end();
});

t.test('constants are none', (t) => {
  t.same(names('const verbs = new Set(["get"]);\nverbs.has("get");\n'), []);
  t.same(names('export const shape = new RegExp("a");\n'), []);
  t.same(names('function f() {\n  let n = 0;\n  const m = new Map();\n  m.set(n, 1);\n}\n'), []);
  t.same(names('const order = ["a"];\nconst sorted = (list) => [...order, list].sort();\n'), []);
  t.same(names('const set = new Set();\nthis.set.add(1);\n'), []);
  t.end();
});

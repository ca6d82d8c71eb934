/** Every rule of the specification has a test. The rules and their tests are in `rules.ts`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { rules } from '#test/integration/apiserver/spec/rules.js';

t.test('every rule and every cell is named by a test of its file', async (t) => {
  const texts = new Map<string, string>();
  const textOf = (file: string): string => {
    const text = texts.get(file) ?? readFileSync(join(import.meta.dirname, `${file}.test.js`), 'utf8');
    texts.set(file, text);
    return text;
  };
  const missing = rules.filter(({ id, file }) => !textOf(file).includes(`'${id}'`));
  t.same(missing, []);
  t.ok(rules.length > 150, 'the table is whole');
});

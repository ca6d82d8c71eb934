import t from 'tap';
import type { ApiObjectShape } from '#api/object.js';
import { groupVersions } from '#api/scheme.gen.js';
import { dropDisabledFields, gatedFieldsOf } from '#api/strategy/gated-fields.js';
import type { MessageDeclaration, ResourceDeclaration } from '#apimachinery/schema/schema.js';

const types = new Map<string, MessageDeclaration>();
const resources: ResourceDeclaration[] = [];
for (const { group, version, kinds } of groupVersions) {
  for (const kind of kinds) {
    for (const [name, message] of Object.entries(kind.types)) types.set(`${group}.${version}.${name}`, message);
    for (const resource of kind.resources ?? []) resources.push({ group, version, ...resource } as ResourceDeclaration);
  }
}

/** The smallest object that has the field, along the declared types; undefined when there is no such field. */
function withPath(type: string, scope: string, [step, ...rest]: string[]): object | undefined {
  const name = type.includes('.') ? type : `${scope}.${type}`;
  const message = types.get(name);
  const key = step?.replace('[*]', '') ?? '';
  const field =
    message?.fields[key] ??
    Object.values(message?.fields ?? {})
      .filter((inlined) => inlined.inline)
      .map((inlined) => types.get(inlined.type.includes('.') ? inlined.type : `${scope}.${inlined.type}`)?.fields[key])
      .find((found) => found !== undefined);
  if (field === undefined) return undefined;
  const value = rest.length === 0 ? {} : withPath(field.type, name.slice(0, name.lastIndexOf('.')), rest);
  if (value === undefined) return undefined;
  return { [key]: step?.endsWith('[*]') ? [value] : value };
}

t.test('every gated field of every kind', (t) => {
  let rows = 0;
  for (const resource of resources) {
    for (const [gate, paths] of Object.entries(gatedFieldsOf(resource) ?? {})) {
      for (const path of paths) {
        const object = withPath(
          resource.kind,
          `${resource.group}.${resource.version}`,
          path.replace(/=.*/, '').split('.'),
        );
        if (object === undefined) {
          t.fail(`${resource.resource} has no field ${path}`);
          continue;
        }
        rows++;
        const part = path.startsWith('status') ? 'status' : 'main';
        const run = (options: { on: boolean; stored: boolean; part: 'status' | 'main' }): object => {
          const copy = structuredClone(object) as ApiObjectShape;
          const old = (options.stored ? object : {}) as ApiObjectShape;
          dropDisabledFields(copy, { [gate]: paths }, { gate: () => options.on, old, part: options.part });
          return copy;
        };
        const at = `${resource.resource} ${path}`;
        t.strictSame(run({ on: true, stored: false, part }), object, `${at} stays while ${gate} is on`);
        t.strictSame(run({ on: false, stored: true, part }), object, `${at} stays where it is stored`);
        t.notSame(run({ on: false, stored: false, part }), object, `${at} goes while ${gate} is off`);
        const other = part === 'status' ? 'main' : 'status';
        t.strictSame(run({ on: false, stored: false, part: other }), object, `${at} is of the other part`);
      }
    }
  }
  t.ok(rows > 100, `${rows} rows`);
  t.end();
});

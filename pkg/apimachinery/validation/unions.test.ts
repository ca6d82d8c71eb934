import t from 'tap';
import { fieldDescription, messageDescription } from '#apimachinery/schema/descriptions.js';
import { message, optional, partialUnion, pointer, required, union } from '#apimachinery/schema/language.js';
import type { FieldDeclaration } from '#apimachinery/schema/schema.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import {
  clashOf,
  exactlyOne,
  listWording,
  memberNames,
  membersOf,
  oneMember,
  pairWording,
} from '#apimachinery/validation/unions.js';

interface Source {
  readonly disk?: { readonly size?: number };
  readonly network?: object;
  readonly memory?: object;
}

const sources = union('Where data is.', {
  network: pointer(2, 'Network', 'A network volume.'),
  disk: pointer(1, 'Disk', 'A disk.'),
  memory: pointer(3, 'Memory', 'Memory.'),
});
const pair = partialUnion('Who it is.', ['name', 'ids'], {
  ids: optional(1, 'int32[]', 'Numbers.'),
  name: optional(2, 'string', 'A name.'),
  note: optional(3, 'string', 'A note.'),
});
const named = union('One by its type.', {
  type: required(1, 'string', { discriminator: true }, 'Which.'),
  disk: pointer(2, 'Disk', 'A disk.'),
  memory: pointer(3, 'Memory', 'Memory.'),
});

const at = FieldPath.of('spec');

t.test('set members are in declaration order; empty ones without pointer are unset', async (t) => {
  t.strictSame(memberNames(sources), ['network', 'disk', 'memory']);
  t.strictSame(memberNames(named), ['disk', 'memory'], 'a discriminator is not a member');
  const sourcesOf = membersOf<Source>(sources);
  t.strictSame(sourcesOf({ memory: {}, disk: {}, network: {} }), ['network', 'disk', 'memory']);
  t.strictSame(sourcesOf({}), []);
  const identitiesOf = membersOf<{ name?: string; ids?: number[]; note?: string }>(pair);
  t.strictSame(identitiesOf({ ids: [], name: '', note: 'x' }), []);
  t.strictSame(identitiesOf({ ids: [0], name: '' }), ['ids']);
  t.strictSame(identitiesOf({ ids: [0], name: 'x' }), ['name', 'ids']);
  t.throws(() => membersOf(message('No union.', {})), new RangeError('the message is no union'));
});

t.test('of several members the first is validated and the others are refused', async (t) => {
  const check = exactlyOne<Source, number>(
    sources,
    'volume type',
    {
      network: () => none,
      disk: ({ size = 0 }, path, most) => (size > most ? [invalidValue(path.child('size'), size, 'too big')] : none),
      memory: () => none,
    },
    { inside: { disk: 'hardDisk' }, beside: { memory: 'RAM' } },
  );
  const failures = (source: Source) => check(source, at, 2).map(({ field, message }) => `${field}: ${message}`);
  t.strictSame(failures({ disk: { size: 2 } }), []);
  t.strictSame(failures({}), ['spec: Required value: must specify a volume type']);
  t.strictSame(failures({ memory: {}, disk: { size: 3 } }), [
    'spec.hardDisk.size: Invalid value: 3: too big',
    'spec.RAM: Forbidden: may not specify more than 1 volume type',
  ]);
  t.strictSame(failures({ disk: { size: 3 }, network: {} }), [
    'spec.disk: Forbidden: may not specify more than 1 volume type',
  ]);
});

t.test('one member without validation, in two wordings', async (t) => {
  const texts = (wording: typeof pairWording, message: object) =>
    oneMember(pair, wording)(message, at).map((failure) => failure.message);
  for (const wording of [pairWording, listWording]) t.strictSame(texts(wording, { name: 'x' }), []);
  t.strictSame(texts(pairWording, {}), ['Required value: one of name and ids is required']);
  t.strictSame(texts(pairWording, { name: 'x', ids: [1] }), [
    'Invalid value: "resource": name and ids can not be specified simultaneously',
  ]);
  t.strictSame(texts(listWording, {}), ['Invalid value: "": must specify one of: `name` or `ids`']);
  t.strictSame(texts(listWording, { name: 'x', ids: [1] }), [
    'Invalid value: "": may not have more than one field specified at a time',
  ]);
});

const excluding = message('A peer.', {
  block: pointer(1, 'Block', { excludes: ['pods', 'text'] }, 'A block.'),
  pods: pointer(2, 'Selector', 'Pods.'),
  text: optional(3, 'string', 'A text.'),
});

t.test('a field that excludes others clashes with those that are set', async (t) => {
  const clashes = clashOf<{ block?: object; pods?: object; text?: string }>(excluding, 'block');
  t.equal(clashes({ block: {} }), false);
  t.equal(clashes({ pods: {}, text: 'x' }), false);
  t.equal(clashes({ block: {}, text: '' }), false, 'an empty text counts as unset');
  t.equal(clashes({ block: {}, pods: {} }), true);
  t.equal(clashes({ block: {}, text: 'x' }), true);
  t.throws(() => clashOf(excluding, 'text' as never), new RangeError('text excludes nothing'));
});

t.test('descriptions mention unions', async (t) => {
  t.equal(messageDescription(sources), 'Where data is. Exactly one member is set.');
  t.equal(messageDescription(pair), 'Who it is. Exactly one of `name` or `ids` is set.');
  t.equal(
    fieldDescription(excluding.fields['block'] as FieldDeclaration),
    'A block. Not together with `pods` or `text`.',
  );
  t.equal(messageDescription(named), 'One by its type. `type` names the member that is set.');
});

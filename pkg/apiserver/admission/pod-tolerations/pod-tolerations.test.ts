import t from 'tap';
import { namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { Pod, Toleration } from '#api/core/v1/types.gen.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { tolerationsIn } from '#apiserver/admission/pod-tolerations/annotation.js';
import { clusterTolerations } from '#apiserver/admission/pod-tolerations/configuration.js';
import { areAllowed, mergeTolerations } from '#apiserver/admission/pod-tolerations/merge.js';
import { PodTolerationRestriction } from '#apiserver/admission/pod-tolerations/pod-tolerations.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

const exists = (key: string, more: Partial<Toleration> = {}): Toleration => ({ key, operator: 'Exists', ...more });

interface Lists {
  readonly added?: string;
  readonly allowed?: string;
}

function setup(dialect: Dialect, { added, allowed }: Lists = {}, cluster = clusterTolerations(undefined, dialect)) {
  const reader = new MemoryObjectReader();
  const { defaultTolerations, tolerationsWhitelist } = dialect.annotations;
  const annotations = {
    ...(added === undefined ? {} : { [defaultTolerations]: added }),
    ...(allowed === undefined ? {} : { [tolerationsWhitelist]: allowed }),
  };
  reader.put(namespaces, { metadata: { name: 'ns', annotations }, spec: {} });
  return new PodTolerationRestriction({ dialect, reader, cluster });
}

const pod = (tolerations?: Toleration[], requests?: Record<string, string>): Pod => ({
  metadata: { name: 'p' },
  spec: {
    containers: [{ name: 'c', ...(requests === undefined ? {} : { resources: { requests } }) }],
    ...(tolerations === undefined ? {} : { tolerations }),
  },
});

const json = JSON.stringify;

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: pods get the tolerations of their namespace or cluster`, async (t) => {
    const pressure = exists(dialect.taints.memoryPressure, { effect: 'NoSchedule' });
    const cluster = { added: [exists('cluster')], allowed: [] };
    const rows: readonly (readonly [string, PodTolerationRestriction, Pod, readonly Toleration[] | undefined])[] = [
      ['none', setup(dialect), pod(), undefined],
      ['own', setup(dialect), pod([exists('a')]), [exists('a')]],
      [
        'the namespace’s',
        setup(dialect, { added: json([exists('a')]) }),
        pod([exists('b')]),
        [exists('b'), exists('a')],
      ],
      ['the cluster’s', setup(dialect, {}, cluster), pod(), [exists('cluster')]],
      [
        'the namespace’s before the cluster’s',
        setup(dialect, { added: json([exists('a')]) }, cluster),
        pod(),
        [exists('a')],
      ],
      ['none of the namespace', setup(dialect, { added: '' }, cluster), pod(), undefined],
      ['for reserved memory', setup(dialect), pod([], { memory: '1' }), [pressure]],
      [
        'included ones only once',
        setup(dialect, { added: json([{ operator: 'Exists' }]) }),
        pod([exists('a')]),
        [{ operator: 'Exists' }],
      ],
    ];
    for (const [name, plugin, object, expected] of rows) {
      t.equal(await outcomeOf(plugin, pods, { object }), 'admitted', name);
      t.strictSame(object.spec.tolerations, expected, name);
    }
    const update = { operation: 'UPDATE', object: pod([exists('b')], { cpu: '1' }), oldObject: pod() } as const;
    t.equal(await outcomeOf(setup(dialect, { added: json([exists('a')]) }), pods, update), 'admitted', 'an update');
    t.strictSame(update.object.spec.tolerations, [exists('b'), pressure], 'no defaults in updates');
  });
}

t.test('pods do not share the tolerations of the configuration', async (t) => {
  const cluster = { added: [exists('cluster')], allowed: [] };
  const object = pod();
  await outcomeOf(setup(orchDialect, {}, cluster), pods, { object });
  t.strictSame(object.spec.tolerations, cluster.added);
  t.not(object.spec.tolerations?.[0], cluster.added[0]);
});

t.test('tolerations outside of the list are refused', async (t) => {
  const conflict = (list: string) =>
    `500 pod tolerations (possibly merged with namespace default tolerations) conflict with its ${list} whitelist`;
  const cluster = { added: [], allowed: [exists('cluster')] };
  const only = (...allowed: Toleration[]) => ({ allowed: json(allowed) });
  const rows: readonly (readonly [string, Lists, Toleration[] | undefined, string])[] = [
    ['listed', only(exists('a')), [exists('a')], 'admitted'],
    [
      'narrower than listed',
      only(exists('a')),
      [{ key: 'a', operator: 'Equal', value: 'x', effect: 'NoExecute' }],
      'admitted',
    ],
    ['not listed', only(exists('a')), [exists('b')], conflict('namespace')],
    ['wider than listed', only(exists('a', { effect: 'NoExecute' })), [exists('a')], conflict('namespace')],
    [
      'longer than listed',
      only(exists('a', { effect: 'NoExecute', tolerationSeconds: 5 })),
      [exists('a', { effect: 'NoExecute', tolerationSeconds: 6 })],
      conflict('namespace'),
    ],
    [
      'no operator',
      only({ key: 'a', operator: 'Equal', value: 'x' }),
      [{ key: 'a', value: 'x' }],
      conflict('namespace'),
    ],
    ['none', only(exists('a')), undefined, 'admitted'],
    ['an empty list', only(), [exists('b')], 'admitted'],
    ['an empty annotation', { allowed: '' }, [exists('b')], 'admitted'],
    ['of the cluster', {}, [exists('b')], conflict('cluster')],
    ['in the list of the cluster', {}, [exists('cluster')], 'admitted'],
    ['in a list that replaces the cluster’s', only(exists('b')), [exists('b')], 'admitted'],
  ];
  for (const [name, lists, own, expected] of rows)
    t.equal(await outcomeOf(setup(orchDialect, lists, cluster), pods, { object: pod(own) }), expected, name);
  const many = Array.from({ length: 501 }, (_, i) => exists(`k${i}`));
  t.equal(
    await outcomeOf(setup(orchDialect, { added: json([exists('a')]) }), pods, { object: pod(many) }),
    '403 pods "p" is forbidden: too many tolerations to compare: 502 with 502',
    'more than can be compared at once',
  );
  const lost = new PodTolerationRestriction({ dialect: orchDialect, reader: new MemoryObjectReader(), cluster });
  t.equal(await outcomeOf(lost, pods, { object: pod() }), '404 namespaces "ns" not found', 'no namespace');
});

t.test('annotations are decoded like 1.24 decodes them', (t) => {
  const field = 'json: cannot unmarshal';
  const cases: readonly (readonly [text: string, expected: string | readonly Toleration[]])[] = [
    ['', []],
    ['null', []],
    ['[null]', [{}]],
    ['[{"KEY":"a","Operator":"Exists","other":1,"value":null}]', [exists('a')]],
    ['[{"tolerationSeconds":9223372036854775807}]', [{ tolerationSeconds: 9223372036854775807n }]],
    ['x', "invalid character 'x' looking for beginning of value"],
    ['[', 'unexpected end of JSON input'],
    ['[] x', "invalid character 'x' after top-level value"],
    ['{}', `${field} object into Go value of type []v1.Toleration`],
    ['1', `${field} number into Go value of type []v1.Toleration`],
    ['["a"]', `${field} string into Go value of type v1.Toleration`],
    ['[[]]', `${field} array into Go value of type v1.Toleration`],
    ['[{"key":1}]', `${field} number into Go struct field Toleration.key of type string`],
    ['[{"operator":{}}]', `${field} object into Go struct field Toleration.operator of type v1.TolerationOperator`],
    ['[{"effect":true}]', `${field} bool into Go struct field Toleration.effect of type v1.TaintEffect`],
    [
      '[{"tolerationSeconds":1.5}]',
      `${field} number 1.5 into Go struct field Toleration.tolerationSeconds of type int64`,
    ],
    ['[{"tolerationSeconds":"1"}]', `${field} string into Go struct field Toleration.tolerationSeconds of type int64`],
  ];
  for (const [text, expected] of cases) {
    if (typeof expected === 'string') t.throws(() => tolerationsIn(text), { code: 500, message: expected }, text);
    else t.strictSame(tolerationsIn(text), expected, text);
  }
  t.throws(() => tolerationsIn('['.repeat(100_000)), { code: 500 }, 'deep nesting');
  t.end();
});

t.test('the configuration has the cluster’s tolerations', (t) => {
  const read = (more: object) =>
    clusterTolerations(
      {
        path: '/f',
        value: { apiVersion: orchDialect.podTolerationRestrictionVersion, kind: 'Configuration', ...more },
      },
      orchDialect,
    );
  t.strictSame(read({ default: [exists('a')], whitelist: [exists('b')] }), {
    added: [exists('a')],
    allowed: [exists('b')],
  });
  const at = '--admission-control-config-file: /f: ';
  const noKey = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  for (const [more, message] of [
    [
      { kind: 'Other' },
      'got unexpected config type: apiVersion must be "podtolerationrestriction.admission.orch.io/v1alpha1" and kind "Configuration"',
    ],
    [{ other: [] }, 'unknown field "other"'],
    [{ default: [{ key: 1 }] }, 'default[0].key: Invalid value: 1: must be a string'],
    [
      { whitelist: [{}] },
      `invalid config: [podtolerationrestriction.whitelist[0].operator: Invalid value: "": ${noKey}]`,
    ],
  ] as const)
    t.throws(() => read(more), { message: `${at}${message}` }, message);
  t.end();
});

/** A slow reference: tolerated taints, enumerated. */
const taintKeys = ['a', 'b'];
const taintValues = ['x', 'y'];
const taintEffects = ['NoSchedule', 'NoExecute'];
const durations = [1, 2, 3];

/** Taints, with how long they last, that a toleration covers. */
function covered({ key = '', operator, value = '', effect = '', tolerationSeconds }: Toleration): Set<string> {
  const all = new Set<string>();
  for (const k of taintKeys)
    for (const v of taintValues)
      for (const e of taintEffects)
        for (const d of [...durations, Number.POSITIVE_INFINITY]) {
          const matches =
            (key === k || key === '') && (operator === 'Exists' || value === v) && (effect === e || effect === '');
          const lasts = e !== 'NoExecute' || tolerationSeconds === undefined || d <= Number(tolerationSeconds);
          if (matches && lasts) all.add(`${k} ${v} ${e} ${d}`);
        }
  return all;
}

t.test('merged tolerations cover what both lists cover', (t) => {
  const random = seededRandom(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const any = (): Toleration => {
    const effect = pick(taintEffects);
    const seconds = effect === 'NoExecute' && random() < 0.5 ? { tolerationSeconds: pick(durations) } : {};
    if (random() < 0.5) return { key: pick(['', ...taintKeys]), operator: 'Exists', effect, ...seconds };
    return { key: pick(taintKeys), operator: 'Equal', value: pick(taintValues), effect, ...seconds };
  };
  const list = () => Array.from({ length: Math.floor(random() * 6) }, any);
  const union = (tolerations: readonly Toleration[]) =>
    [...new Set(tolerations.flatMap((one) => [...covered(one)]))].sort();
  for (let round = 0; round < 200; round++) {
    const [first, second] = [list(), list()];
    const merged = mergeTolerations(first, second);
    t.strictSame(union(merged), union([...first, ...second]), 'the same taints', { first, second });
    for (const [i, one] of merged.entries())
      for (const other of merged.slice(i + 1)) t.notSame(other, one, 'each only once');
    const allowed =
      second.length === 0 ||
      first.every((one) => second.some((outer) => [...covered(one)].every((taint) => covered(outer).has(taint))));
    t.equal(areAllowed(first, second), allowed, 'the list allows what it covers', { first, second });
  }
  t.end();
});

import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type { AdmissionScope } from '#apiserver/admission/admission.js';
import { imagePolicyConfiguration } from '#apiserver/admission/image-policy/configuration.js';
import { ImagePolicyWebhook } from '#apiserver/admission/image-policy/image-policy.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const limits = { allowMs: 60_000, denyMs: 30_000, retryBackoffMs: 500, defaultAllow: false };

/** A plugin whose webhook gives `answer`; an error is a failure. */
function setup(answer: unknown, more: Partial<typeof limits> = {}, dialect: Dialect = kubernetesDialect) {
  const bodies: string[] = [];
  const notes: Record<string, string> = {};
  const state = { answer, closed: false };
  const backend = {
    async ask(body: string): Promise<unknown> {
      bodies.push(body);
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    },
    async close() {
      state.closed = true;
    },
  };
  const clock = new VirtualClock();
  const configuration = { ...limits, ...more };
  const plugin = new ImagePolicyWebhook({ dialect, clock, log: silentLogger, backend, configuration });
  const audit = { annotate: (key: string, value: string) => (notes[key] = value) };
  const scope = { context: { audit } } as unknown as AdmissionScope;
  const ask = (object: Pod, request: object = {}) => outcomeOf(plugin, pods, { object, scope, ...request });
  return { plugin, bodies, notes, state, clock, ask };
}

const pod = (image = 'i', annotations?: Record<string, string>): Pod => ({
  metadata: { name: 'p', ...(annotations === undefined ? {} : { annotations }) },
  spec: {
    containers: [{ name: 'c', image }, { name: 'd' }],
    initContainers: [{ name: 'i', image: 'first' }],
    ephemeralContainers: [{ name: 'e', image: 'shell' }],
  },
});
const allowed = { status: { allowed: true } };
const refused = (why: string) => `403 pods "p" is forbidden: ${why}`;

const versionAndKind =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: the review has the images and the annotations for the webhook`, async (t) => {
    const { bodies, ask } = setup(allowed, {}, dialect);
    const { domain } = dialect.imagePolicy;
    const ticket = `my.${domain}/ticket`;
    t.equal(await ask(pod('i', { [ticket]: '<1>', 'a/b': 'c', [`${domain}/x`]: 'y' })), 'admitted');
    t.equal(
      bodies[0],
      `{"kind":"ImageReview","apiVersion":"imagepolicy.${dialect.apiDomain}/v1alpha1","metadata":{"creationTimestamp":null},` +
        `"spec":{"annotations":{"${ticket}":"\\u003c1\\u003e"},"containers":[{"image":"i"},{},{"image":"first"}],` +
        `"namespace":"ns"},"status":{"allowed":false}}`,
    );
    await ask(pod(), { operation: 'UPDATE', subresource: 'ephemeralcontainers' });
    t.match(JSON.parse(bodies[1] ?? ''), { spec: { containers: [{ image: 'shell' }], namespace: 'ns' } });
    for (const request of [{ subresource: 'status', operation: 'UPDATE' }, { operation: 'DELETE' }])
      t.equal(await ask(pod(), request), 'admitted', JSON.stringify(request));
    t.equal(bodies.length, 2, 'other requests are not reviewed');
  });
}

t.test('the webhook decides', async (t) => {
  const apiVersion = 'imagepolicy.k8s.io/v1alpha1';
  const lost = new WebhookCallError('unreachable', 'Post "https://x": EOF');
  for (const [answer, expected] of [
    [{ kind: 'ImageReview', apiVersion, ...allowed }, 'admitted'],
    [{ status: { allowed: false } }, refused('one or more images rejected by webhook backend')],
    [{ status: null }, refused('one or more images rejected by webhook backend')],
    [
      { status: { allowed: false, reason: 'no tag' } },
      refused('image policy webhook backend denied one or more images: no tag'),
    ],
    [lost, refused('Post "https://x": EOF')],
    [new WebhookCallError('refused', 'no entry', { code: 403 }), '403 no entry'],
    [tooManyRequests('busy', 1), '429 busy'],
    [
      'yes',
      refused(
        `couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type ${versionAndKind}`,
      ),
    ],
    [
      { status: { allowed: 'true' } },
      refused('json: cannot unmarshal string into Go struct field ImageReviewStatus.status.allowed of type bool'),
    ],
    [
      { ...allowed, kind: 'Pod', apiVersion: 'v1' },
      refused('converting (v1.Pod) to (v1alpha1.ImageReview): unknown conversion'),
    ],
    [
      { status: { allowed: true, auditAnnotations: { a: 1 } } },
      refused(
        'json: cannot unmarshal number into Go struct field ImageReviewStatus.status.auditAnnotations of type string',
      ),
    ],
  ] as const)
    t.equal(await setup(answer).ask(pod()), expected, JSON.stringify(answer));
});

t.test('a failure admits pods only if the configuration says so, and leaves a trace', async (t) => {
  const lost = new WebhookCallError('unreachable', 'EOF');
  const { ask, notes, state } = setup(lost, { defaultAllow: true });
  const object = pod('i', { a: 'b' });
  t.equal(await ask(object), 'admitted');
  t.strictSame(object.metadata.annotations, { a: 'b' }, 'the pod stays as it is');
  t.strictSame(notes, { 'imagepolicywebhook.image-policy.k8s.io/failed-open': 'true' }, 'in the audit log');
  state.answer = tooManyRequests('busy', 1);
  t.equal(await ask(pod()), '429 busy', 'a flood does not switch reviews off');
  state.answer = { status: {} };
  t.equal(await ask(pod()), refused('one or more images rejected by webhook backend'), 'failures are not remembered');
});

t.test('annotations of the webhook go to the audit log, also remembered ones', async (t) => {
  const auditAnnotations = { 'audit-required': 'yes', 'no/name': 'x', '': 'y' };
  const { ask, notes, bodies } = setup({ status: { allowed: true, auditAnnotations } });
  const expected = { 'imagepolicywebhook.image-policy.k8s.io/audit-required': 'yes' };
  await ask(pod());
  t.strictSame(notes, expected);
  delete notes['imagepolicywebhook.image-policy.k8s.io/audit-required'];
  await ask(pod());
  t.strictSame(notes, expected, 'the second time');
  t.equal(bodies.length, 1, 'one call');
});

t.test('answers are remembered for a time that depends on them', async (t) => {
  const { ask, bodies, state, clock } = setup(allowed);
  await ask(pod());
  await clock.advance(59_999);
  await ask(pod());
  t.equal(bodies.length, 1, 'an approval within its time');
  await ask(pod('other'));
  await ask(pod(), { namespace: 'other' });
  t.equal(bodies.length, 3, 'other images, another namespace');
  state.answer = { status: { allowed: false } };
  await clock.advance(60_000);
  await ask(pod());
  await clock.advance(29_999);
  await ask(pod());
  t.equal(bodies.length, 4, 'a refusal within its time');
  await clock.advance(1);
  await ask(pod());
  t.equal(bodies.length, 5, 'a refusal after its time');
  const none = setup(allowed, { allowMs: 0 });
  await none.ask(pod());
  await none.ask(pod());
  t.equal(none.bodies.length, 2, 'no time');
  const long = setup({ status: { allowed: false, reason: 'x'.repeat(20_000) } });
  await long.ask(pod());
  await long.ask(pod());
  t.equal(long.bodies.length, 2, 'long answers are not kept in memory');
});

t.test('calls end with the server', (t) => {
  const { plugin, state } = setup(allowed);
  const ending = new AbortController();
  plugin.start(ending.signal);
  t.notOk(state.closed);
  ending.abort();
  t.ok(state.closed);
  t.end();
});

t.test('the configuration has 1.24’s defaults and limits', (t) => {
  const read = (imagePolicy: unknown) => imagePolicyConfiguration({ path: '/f', value: { imagePolicy } });
  const kubeConfigFile = '/k';
  const usual = { kubeConfigFile, defaultAllow: false, retryBackoffMs: 500, allowMs: 300_000, denyMs: 30_000 };
  t.strictSame(read({ kubeConfigFile }), usual);
  t.strictSame(read({ kubeConfigFile, allowTTL: 0, denyTTL: -1, retryBackoff: -1, defaultAllow: true }), {
    ...usual,
    defaultAllow: true,
    denyMs: 0,
    retryBackoffMs: 0,
  });
  t.strictSame(read({ kubeConfigFile, allowTTL: 1800, denyTTL: 1, retryBackoff: 300_000 }), {
    ...usual,
    ...{ allowMs: 1_800_000, denyMs: 1000, retryBackoffMs: 300_000 },
  });
  const at = '--admission-control-config-file: /f: ';
  for (const [policy, message] of [
    [{}, 'imagePolicy.kubeConfigFile: Required value'],
    [{ kubeConfigFile, allowTTL: 1801 }, 'valid value is between 1s and 30m0s, got 30m1s'],
    [{ kubeConfigFile, denyTTL: -2 }, 'valid value is between 1s and 30m0s, got -2s'],
    [{ kubeConfigFile, retryBackoff: 300_001 }, 'valid value is between 1ns and 5m0s, got 5m0.001s'],
    [{ kubeConfigFile, allowTTL: '5s' }, 'imagePolicy.allowTTL: Invalid value: "5s": must be an integer (int64)'],
    [{ kubeConfigFile, defaultAllow: 'yes' }, 'imagePolicy.defaultAllow: Invalid value: "yes": must be true or false'],
    [{ kubeConfigFile, other: 1 }, 'unknown field "imagePolicy.other"'],
  ] as const)
    t.throws(() => read(policy), { message: `${at}${message}` }, message);
  t.throws(() => imagePolicyConfiguration(undefined), { message: /: no config specified$/ }, 'no configuration');
  t.throws(() => imagePolicyConfiguration({ path: '/f', value: [] }), { message: `${at}must be an object` });
  t.end();
});

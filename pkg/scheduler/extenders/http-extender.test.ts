/** Requests to extenders, their connections, and the handling of invalid answers. */
import t, { type Test } from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { httpExtenders } from '#scheduler/extenders/http-extender.js';
import type { ExtenderSettings, ExtenderTls } from '#scheduler/extenders/settings.js';
import { defaults, extenderAt, extenderServer, type Verb } from '#scheduler/extenders/testing/extender-server.js';

const podNamed = (name: string, priority = 0): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { containers: [{ name: 'c', image: 'i' }], priority },
});
const cluster = new Cluster(dialect, noObjects);
for (const name of ['a', 'b']) cluster.setNode({ metadata: { name }, spec: {}, status: {} });
cluster.assume(podInfo(podNamed('small')), 'a');
cluster.assume(podInfo(podNamed('large', 100)), 'a');
const nodes = [...cluster.nodes()];
const pod = podInfo(podNamed('p', 10));
const never = new AbortController().signal;

/** The message of the failure. */
async function failure(work: Promise<unknown> | undefined): Promise<string> {
  try {
    await work;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return '';
}

async function answering(t: Test, answer: unknown, settings: Partial<ExtenderSettings> = {}) {
  const verb: Verb = (_question, response) => {
    if (typeof answer !== 'string') return answer;
    response.end(answer);
    return undefined;
  };
  const { url } = await extenderServer(t, { filter: verb, prioritize: verb, preempt: verb, bind: verb });
  const verbs = { filterVerb: 'filter', prioritizeVerb: 'prioritize', preemptVerb: 'preempt', bindVerb: 'bind' };
  return { url, extender: extenderAt(t, url, { ...verbs, ...settings }) };
}

t.test('refuses invalid answers', async (t) => {
  const rows: [answer: unknown, want: RegExp][] = [
    ['', /the answer must be an object/],
    ['{"NodeNames": [', /the response is not JSON/],
    ['<html>', /the response is not JSON/],
    [[], /the answer must be an object/],
    [{ NodeNames: 'a' }, /NodeNames must be a list/],
    [{ NodeNames: [1] }, /NodeNames\[0\] must be a string/],
    [{ NodeNames: ['z'] }, /claims a filtered node "z" which is not found in the input node list/],
    [{ NodeNames: ['a', 'a'] }, /node "a" appears twice/],
    [{ Nodes: { items: [{}] } }, /Nodes\.items\[0\]\.metadata must be an object/],
    [{ NodeNames: [], FailedNodes: { a: 1 } }, /FailedNodes\["a"\] must be a string/],
    [{ Error: 'no luck' }, /^no luck$/],
  ];
  for (const [answer, want] of rows) {
    const { extender } = await answering(t, answer);
    t.match(await failure(extender.filter?.(pod, nodes, never)), want, JSON.stringify(answer));
  }
  const scores: [answer: unknown, want: RegExp][] = [
    [{}, /the answer must be a list/],
    [[{ Host: 'a', Score: -1 }], /the score of "a" is -1; expected an integer from 0 to 1000000/],
    [[{ Host: 'a', Score: 1e18 }], /the score of "a" is 1000000000000000000/],
    [[{ Host: 'a', Score: 0.5 }], /the score of "a" is 0.5/],
    [[{ Host: 'a' }, { Host: 'a' }], /node "a" appears twice/],
    [[{ Score: 1 }], /\[0\]\.Host must be a string/],
  ];
  for (const [answer, want] of scores) {
    const { extender } = await answering(t, answer);
    t.match(await failure(extender.prioritize?.(pod, nodes, never)), want, JSON.stringify(answer));
  }
  const victims: [answer: unknown, want: RegExp][] = [
    [[], /the answer must be an object/],
    [{ NodeNameToMetaVictims: { z: { Pods: [] } } }, /chose node "z", which was no candidate/],
    [
      { NodeNameToMetaVictims: { a: { Pods: [{ UID: 'x' }] } } },
      /claims to preempt pod \(UID: x\) on node: a, but the pod is not found on that node/,
    ],
    [{ NodeNameToMetaVictims: { a: { Pods: [{ UID: 'uid-large' }] } } }, /but that pod is as important/],
    [{ NodeNameToMetaVictims: { a: { Pods: [], NumPDBViolations: -1 } } }, /NumPDBViolations must be a number of pods/],
  ];
  const candidates = new Map(nodes.map((node) => [node.name, { node, victims: { pods: [], violations: 0 } }]));
  for (const [answer, want] of victims) {
    const { extender } = await answering(t, answer);
    t.match(await failure(extender.preempt?.(pod, candidates, never)), want, JSON.stringify(answer));
  }
  const { extender } = await answering(t, { error: 'taken' });
  t.equal(await failure(extender.bind?.(pod, 'a', never)), 'taken');
});

t.test('accepts valid answers', async (t) => {
  const both = await answering(t, {
    NodeNames: ['a'],
    FailedNodes: { b: 'x' },
    failedAndUnresolvableNodes: { b: 'y' },
  });
  const verdict = await both.extender.filter?.(pod, nodes, never);
  t.same([...(verdict?.passed ?? [])], ['a']);
  t.same([verdict?.failed.get('b'), verdict?.unresolvable.get('b')], ['x', 'y']);
  const whole = await answering(t, { Nodes: { items: [{ metadata: { name: 'b' } }] } }, { nodeCacheCapable: false });
  t.same([...((await whole.extender.filter?.(pod, nodes, never))?.passed ?? [])], ['b']);
  const ranks = await answering(
    t,
    [
      { Host: 'a', Score: 3 },
      { Host: 'elsewhere', Score: 9 },
    ],
    { weight: 2 },
  );
  t.same([...((await ranks.extender.prioritize?.(pod, nodes, never)) ?? [])], [['a', 60]]);
});

t.test('sends the requests of release 1.24', async (t) => {
  const requests: object[] = [];
  const note: Verb = (question) => {
    requests.push(question);
    return {};
  };
  const { url } = await extenderServer(t, { filter: note, preempt: note, bind: note });
  const verbs = { filterVerb: 'filter', preemptVerb: '/preempt', bindVerb: 'bind' };
  const candidates = new Map(
    nodes.map((node) => [node.name, { node, victims: { pods: [...node.pods.values()], violations: 1 } }]),
  );
  for (const nodeCacheCapable of [true, false]) {
    const extender = extenderAt(t, `${url}/`, { ...verbs, nodeCacheCapable });
    await extender.filter?.(pod, nodes, never);
    await extender.preempt?.(pod, candidates, never);
    await extender.bind?.(pod, 'a', never);
  }
  const Pod = pod.pod;
  const small = podNamed('small');
  const large = podNamed('large', 100);
  const bind = { PodName: 'p', PodNamespace: 'default', PodUID: 'uid-p', Node: 'a' };
  const meta = { Pods: [{ UID: 'uid-small' }, { UID: 'uid-large' }], NumPDBViolations: 1 };
  const none = { Pods: [], NumPDBViolations: 1 };
  t.same(requests, [
    { Pod, Nodes: null, NodeNames: nodes.map(({ name }) => name) },
    { Pod, NodeNameToVictims: null, NodeNameToMetaVictims: { a: meta, b: none } },
    bind,
    { Pod, Nodes: { metadata: {}, items: nodes.map(({ node }) => node) }, NodeNames: null },
    {
      Pod,
      NodeNameToVictims: { a: { Pods: [small, large], NumPDBViolations: 1 }, b: none },
      NodeNameToMetaVictims: null,
    },
    bind,
  ]);
});

t.test('bounds endless and silent answers', async (t) => {
  const { url } = await extenderServer(t, {
    endless: (_question, response) => {
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      const more = (): void => {
        while (!response.closed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    },
    silent: () => undefined,
    slow: (_question, response) => void response.write('{'),
  });
  const of = (filterVerb: string, timeoutMs: number) => extenderAt(t, url, { filterVerb, timeoutMs });
  const ask = (extender: ReturnType<typeof of>, stop = never) => failure(extender.filter?.(pod, nodes, stop));
  t.equal(await ask(of('endless', 300_000)), 'the response is longer than 16777216 bytes');
  t.equal(await ask(of('silent', 10)), `no answer from ${url}/silent within 10 ms`);
  t.equal(await ask(of('slow', 10)), `no answer from ${url}/slow within 10 ms`);
  const stop = new AbortController();
  const stopped = ask(of('silent', 300_000), stop.signal);
  stop.abort();
  t.match(await stopped, /aborted/);
  t.match(await ask(extenderAt(t, 'http://127.0.0.1:1', { filterVerb: 'f' })), /cannot connect to 127.0.0.1:1/);
});

t.test('credentials', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const other = await createAuthority({ commonName: 'other', now });
  const serving = await issueCertificate(authority, {
    subject: { commonName: 'extender', organizations: [] },
    usages: ['server'],
    names: ['extender.example.com'],
    now,
  });
  const user = await issueCertificate(authority, {
    subject: { commonName: 'scheduler', organizations: [] },
    usages: ['client'],
    now,
  });
  const { url } = await extenderServer(
    t,
    { filter: () => ({ NodeNames: ['a'] }) },
    {
      cert: serving.certificate,
      key: serving.privateKey,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    },
  );
  const own = { certData: user.certificate, keyData: user.privateKey };
  const good = { ...own, caData: authority.certificate, serverName: 'extender.example.com' };
  const ask = async (tls: Partial<ExtenderTls>, enableHttps = true) => {
    const extender = extenderAt(t, url, { filterVerb: 'filter', enableHttps, tls: { ...noTls, ...tls } });
    return failure(extender.filter?.(pod, nodes, never));
  };
  t.equal(await ask(good), '');
  t.equal(await ask({ ...own, insecure: true }), '');
  t.equal(await ask(own), '', 'without an authority the certificate is not verified');
  t.match(await ask({ ...good, serverName: 'another' }), /TLS with/);
  t.match(await ask({ ...good, caData: other.certificate }), /TLS with/);
  t.match(await ask(own, false), /TLS with/);
  t.not(await ask({ ...good, certData: undefined, keyData: undefined }), '', 'the server requires a certificate');
  const missing = { ...defaults, urlPrefix: url, tls: { ...noTls, caFile: '/no/such/file' } };
  await t.rejects(httpExtenders([missing], { clock: realClock, env: {}, log }), OptionsError);
  const basic = extenderAt(t, 'http://me:secret@127.0.0.1:1/x/', { filterVerb: 'f' });
  t.equal(basic.name, 'http://127.0.0.1:1/x', 'the name hides the password');
});

const noTls: ExtenderTls = {
  insecure: false,
  serverName: undefined,
  certFile: undefined,
  keyFile: undefined,
  caFile: undefined,
  certData: undefined,
  keyData: undefined,
  caData: undefined,
};

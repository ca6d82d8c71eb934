import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import {
  condition,
  nodeClientUsages,
  nodeServingUsages,
  nodeSubject,
  type SigningRequestOptions,
  signingRequest,
} from '#controllers/certificates/testing/requests.js';
import { planSigning, type Signer, usagesOf, validityOf } from '#controllers/csrsigning/plan.js';

const approved = [condition('Approved')];
const sign = (signer: Signer) => ({ kind: 'sign', signer });
const fail = (message: string) => ({ kind: 'fail', message });
const ignore = { kind: 'ignore' };

t.test('each signer checks subject, names and usages', async (t) => {
  const client = { subject: nodeSubject, spec: { usages: nodeClientUsages } };
  const serving = { subject: nodeSubject, dns: ['n1'], spec: { usages: nodeServingUsages } };
  const others = { subject: { commonName: 'system:node:n1', organizations: ['others'] } };
  const nobody = { subject: { commonName: 'n1', organizations: ['system:nodes'] } };
  const clientUsages = 'usages did not match [client auth digital signature key encipherment]';
  const servingUsages = 'usages did not match [digital signature key encipherment server auth]';
  const rows: [name: string, signer: Signer, options: SigningRequestOptions, plan: object][] = [
    ['client', 'apiServerClient', {}, sign('apiServerClient')],
    ['client, all usages', 'apiServerClient', { spec: { usages: nodeClientUsages } }, sign('apiServerClient')],
    [
      'client that serves',
      'apiServerClient',
      { spec: { usages: ['client auth', 'server auth'] } },
      fail('invalid usage for client certificate: server auth'),
    ],
    [
      'client without the client usage',
      'apiServerClient',
      { spec: { usages: ['digital signature'] } },
      fail('missing required usage for client certificate: client auth'),
    ],
    ['node client', 'apiServerClientNodeAgent', client, sign('apiServerClientNodeAgent')],
    [
      'other organization',
      'apiServerClientNodeAgent',
      { ...client, ...others },
      fail('subject organization is not system:nodes'),
    ],
    [
      'a subject that is not a node',
      'apiServerClientNodeAgent',
      { ...client, ...nobody },
      fail('subject common name does not begin with system:node:'),
    ],
    ['DNS', 'apiServerClientNodeAgent', { ...client, dns: ['a'] }, fail('DNS subjectAltNames are not allowed')],
    ['IP', 'apiServerClientNodeAgent', { ...client, ips: ['::1'] }, fail('IP subjectAltNames are not allowed')],
    [
      'email',
      'apiServerClientNodeAgent',
      { ...client, emails: ['a@b'] },
      fail('Email subjectAltNames are not allowed'),
    ],
    ['URI', 'apiServerClientNodeAgent', { ...client, uris: ['a:b'] }, fail('URI subjectAltNames are not allowed')],
    ['too few usages', 'apiServerClientNodeAgent', { ...client, spec: {} }, fail(clientUsages)],
    [
      'too many usages',
      'apiServerClientNodeAgent',
      { ...client, spec: { usages: [...nodeClientUsages, 'server auth'] } },
      fail(clientUsages),
    ],
    ['serving', 'nodeAgentServing', serving, sign('nodeAgentServing')],
    ['serving by IP', 'nodeAgentServing', { ...serving, dns: [], ips: ['10.0.0.1'] }, sign('nodeAgentServing')],
    ['nameless', 'nodeAgentServing', { ...serving, dns: [] }, fail('DNS or IP subjectAltName is required')],
    [
      'serving email',
      'nodeAgentServing',
      { ...serving, emails: ['a@b'] },
      fail('Email subjectAltNames are not allowed'),
    ],
    ['serving URI', 'nodeAgentServing', { ...serving, uris: ['a:b'] }, fail('URI subjectAltNames are not allowed')],
    [
      'serving, another organization',
      'nodeAgentServing',
      { ...serving, ...others },
      fail('subject organization is not system:nodes'),
    ],
    [
      'serving, a subject that is not a node',
      'nodeAgentServing',
      { ...serving, ...nobody },
      fail('subject common name does not begin with system:node:'),
    ],
    ['serving client', 'nodeAgentServing', { ...serving, spec: { usages: nodeClientUsages } }, fail(servingUsages)],
    ['anything', 'legacyUnknown', { spec: { usages: ['cert sign'] } }, sign('legacyUnknown')],
  ];
  for (const dialect of [orchDialect, kubernetesDialect]) {
    for (const [name, signer, options, plan] of rows) {
      const request = await signingRequest('a', dialect.signers[signer], { ...options, conditions: approved });
      t.same(planSigning(dialect, request), plan, `${dialect.name}: ${name}`);
    }
  }
});

t.test('only approved requests of known signers are signed', async (t) => {
  const client = kubernetesDialect.signers.apiServerClient;
  const rows: [name: string, signer: string, options: SigningRequestOptions, plan: object][] = [
    ['pending', client, {}, ignore],
    ['denied', client, { conditions: [condition('Denied')] }, ignore],
    ['approved and denied', client, { conditions: [...approved, condition('Denied')] }, ignore],
    ['failed', client, { conditions: [...approved, condition('Failed')] }, ignore],
    ['failed, of an old client', client, { conditions: [...approved, condition('Failed', { status: '' })] }, ignore],
    [
      'not failed',
      client,
      { conditions: [...approved, condition('Failed', { status: 'False' })] },
      sign('apiServerClient'),
    ],
    ['issued', client, { conditions: approved, certificate: 'x' }, ignore],
    ['of an unknown signer', 'example.com/signer', { conditions: approved }, ignore],
    ['of a signer of the other dialect', orchDialect.signers.apiServerClient, { conditions: approved }, ignore],
  ];
  for (const [name, signer, options, plan] of rows) {
    t.same(planSigning(kubernetesDialect, await signingRequest('a', signer, options)), plan, name);
  }
});

t.test('the validity is limited by the request, the manager and the signer', async (t) => {
  const now = Date.parse('2022-05-03T00:00:00Z');
  const [minute, hour, day] = [60_000, 3600_000, 24 * 3600_000];
  const rows: [name: string, requested: number | undefined, max: number, end: number][] = [
    ['default of the manager', undefined, 10 * day, now + 10 * day - 5 * minute],
    ['a shorter request', 5 * 24 * 3600, 10 * day, now + 5 * day - 5 * minute],
    ['a longer request than the manager allows', 20 * 24 * 3600, 10 * day, now + 10 * day - 5 * minute],
    ['lifetimes below eight hours count from now', 3600, 10 * day, now + hour],
    ['at least ten minutes', 60, 10 * day, now + 10 * minute],
    ['short default', undefined, hour, now + hour],
    ['longer lifetimes count from the backdated start', undefined, 8 * hour, now + 8 * hour - 5 * minute],
    ['not after the certificate of the signer expires', undefined, 400 * day, now + 30 * day],
  ];
  for (const [name, expirationSeconds, maxMs, notAfter] of rows) {
    const spec = expirationSeconds === undefined ? {} : { expirationSeconds };
    const request = await signingRequest('a', 's', { spec });
    const signerNotAfter = now + 30 * day;
    t.same(validityOf(request, { maxMs, signerNotAfter, now }), { notBefore: now - 5 * minute, notAfter }, name);
  }
  const request = await signingRequest('a', 's');
  const over = (signerNotAfter: number) => () => validityOf(request, { maxMs: day, signerNotAfter, now });
  t.throws(over(now - day), /the signer has expired: NotAfter=2022-05-02/);
  t.throws(over(now - minute), /refusing to sign a certificate that expired in the past: NotAfter=2022-05-02T23:59/);
});

t.test('usages become certificate extensions', async (t) => {
  const of = async (...usages: string[]) => usagesOf(await signingRequest('a', 's', { spec: { usages } }));
  t.same(await of('client auth', 'signing', 'digital signature', 'server auth'), {
    keyUsages: ['digitalSignature'],
    purposes: ['server', 'client'],
  });
  t.same(await of('s/mime', 'email protection', 'any', 'decipher only'), {
    keyUsages: ['decipherOnly'],
    purposes: ['any', 'emailProtection'],
  });
  await t.rejects(of('client auth', 'flying'), /unrecognized usage values: \["flying"\]/);
});

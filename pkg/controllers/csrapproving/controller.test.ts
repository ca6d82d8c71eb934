import t, { type Test } from 'tap';
import { subjectaccessreviews } from '#api/authorization/v1/resources.gen.js';
import type { SubjectAccessReview } from '#api/authorization/v1/types.gen.js';
import { certificatesigningrequests as requests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import {
  condition,
  nodeClientUsages,
  nodeServingUsages,
  nodeSubject,
  type SigningRequestOptions,
  signingRequest,
} from '#controllers/certificates/testing/requests.js';
import {
  CSRApprovingController,
  possibleApprovals,
  servingNamesProblem,
} from '#controllers/csrapproving/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const own = { subject: nodeSubject, spec: { usages: nodeClientUsages, username: nodeSubject.commonName } };
const bootstrapping = { subject: nodeSubject, spec: { usages: nodeClientUsages, username: 'system:bootstrap:abcdef' } };
const forServing = { ...own.spec, usages: nodeServingUsages };

t.test('only pending requests of nodes can be approved', async (t) => {
  const { apiServerClientNodeAgent: client, nodeAgentServing: serving } = kubernetesDialect.signers;
  const rows: [name: string, signer: string, options: SigningRequestOptions, rights: string[]][] = [
    ["a node's own", client, own, ['selfnodeclient', 'nodeclient']],
    ['of a bootstrapping node', client, bootstrapping, ['nodeclient']],
    ['approved', client, { ...own, conditions: [condition('Approved')] }, []],
    ['denied', client, { ...own, conditions: [condition('Denied')] }, []],
    ['issued', client, { ...own, certificate: 'x' }, []],
    ['without the nodes group', client, { ...own, subject: { commonName: 'system:node:n1', organizations: [] } }, []],
    ['for serving', serving, { ...own, dns: ['n1'], spec: forServing }, ['selfnodeserving']],
    ['for serving, by another', serving, { ...own, dns: ['n1'], spec: { ...forServing, username: 'n2' } }, []],
    ['for serving, without names', serving, { ...own, spec: forServing }, []],
    ['another signer', kubernetesDialect.signers.apiServerClient, own, []],
  ];
  for (const [name, signer, options, rights] of rows) {
    const approvals = possibleApprovals(kubernetesDialect, await signingRequest('a', signer, options));
    t.same(
      approvals.map(({ subresource }) => subresource),
      rights,
      name,
    );
  }
  const messages = async (dialect: typeof orchDialect) => {
    const request = await signingRequest('a', dialect.signers.apiServerClientNodeAgent, own);
    return possibleApprovals(dialect, request).map(({ message }) => message);
  };
  t.same(await messages(kubernetesDialect), [
    'Auto approving self kubelet client certificate after SubjectAccessReview.',
    'Auto approving kubelet client certificate after SubjectAccessReview.',
  ]);
  t.match(await messages(orchDialect), [/self nodeagent client/, /Auto approving nodeagent client/]);
});

t.test('serving certificates may name only the node and its addresses', async (t) => {
  const node = (name: string, ...addresses: string[]): Node => ({
    metadata: { name },
    spec: {},
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  });
  const n1 = node('n1', '192.0.2.1', '2001:db8::1', 'n1');
  const rows: [name: string, names: Pick<SigningRequestOptions, 'dns' | 'ips'>, nodes: Node[], problem?: string][] = [
    ['its own', { dns: ['n1'], ips: ['192.0.2.1', '2001:db8::1'] }, [node('n2', '192.0.2.2'), n1]],
    ['of a node that does not exist', { dns: ['n1'] }, [node('n2')], 'there is no node n1'],
    ['another name', { dns: ['n1', 'api'] }, [n1], 'api is not a name of the node'],
    ['another address', { ips: ['192.0.2.9'] }, [n1], '192.0.2.9 is not an address of the node'],
    [
      "another node's",
      { ips: ['192.0.2.1'] },
      [n1, node('n2', '192.0.2.1')],
      '192.0.2.1 is also an address of the node n2',
    ],
    ["another node's name", { dns: ['n2'] }, [node('n1', 'n2'), node('n2')], 'n2 is also an address of the node n2'],
  ];
  for (const [name, names, nodes, problem] of rows) {
    const options = { ...own, ...names, spec: forServing };
    const request = await signingRequest('a', orchDialect.signers.nodeAgentServing, options);
    t.equal(servingNamesProblem(orchDialect, request, nodes), problem, name);
  }
});

/** `rights`: subresources that the requester may create. */
async function setUp(t: Test, options: SigningRequestOptions, rights: Set<string>) {
  const harness = new Harness(t, [requests, nodes, subjectaccessreviews]);
  const { api, dialect } = harness;
  const reviews: SubjectAccessReview['spec'][] = [];
  api.intercept((call) => {
    if (call.subresource === 'approval') {
      const { status } = call.body as CertificateSigningRequest;
      return api.change<CertificateSigningRequest>(requests, call.name ?? '', (request) => {
        request.status = copyJson(status ?? {});
      });
    }
    if (call.resource !== 'subjectaccessreviews') return undefined;
    const review = call.body as SubjectAccessReview;
    reviews.push(review.spec);
    return { ...review, status: { allowed: rights.has(review.spec.resourceAttributes?.subresource ?? '') } };
  });
  api.seed(requests, await signingRequest('a', dialect.signers.apiServerClientNodeAgent, options));
  await harness.start(new CSRApprovingController(harness.context));
  const conditions = () => api.get<CertificateSigningRequest>(requests, 'a')?.status?.conditions;
  return { harness, api, reviews, conditions };
}

t.test('a request is approved by the first authorized subresource', async (t) => {
  const spec = { ...bootstrapping.spec, uid: 'u', groups: ['g'], extra: { a: ['b'] } };
  const { api, reviews, conditions } = await setUp(t, { ...bootstrapping, spec }, new Set(['nodeclient']));
  t.match(conditions(), [
    { type: 'Approved', status: 'True', reason: 'AutoApproved', message: /Auto approving nodeagent/ },
  ]);
  t.same(reviews, [
    {
      user: 'system:bootstrap:abcdef',
      uid: 'u',
      groups: ['g'],
      extra: { a: ['b'] },
      resourceAttributes: {
        group: 'certificates.orch.io',
        resource: 'certificatesigningrequests',
        verb: 'create',
        subresource: 'nodeclient',
      },
    },
  ]);
  t.match(
    api.calls.filter(({ verb }) => verb === 'update'),
    [{ resource: 'certificatesigningrequests', subresource: 'approval' }],
  );
});

t.test('an authorization that is granted later leads to approval', async (t) => {
  const rights = new Set<string>();
  const { harness, reviews, conditions } = await setUp(t, own, rights);
  t.equal(conditions(), undefined);
  t.same(
    reviews.map((spec) => spec.resourceAttributes?.subresource),
    ['selfnodeclient', 'nodeclient'],
  );
  rights.add('selfnodeclient');
  await harness.advance(200);
  t.match(conditions(), [{ message: /self nodeagent client/ }]);
});

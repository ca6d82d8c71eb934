/** Requests that once exceeded their rights: part of every run, for any seed. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { RawRequest } from '#test/fuzz/access/client.js';
import type { Account } from '#test/fuzz/access/policy.js';
import { giveRules } from '#test/fuzz/access/rights.js';
import { dialect, type World } from '#test/fuzz/access/world.js';

export interface Attack {
  readonly account: Account;
  readonly requests: readonly RawRequest[];
}

const merge = 'application/merge-patch+json';

function request(method: string, target: string, body?: object): RawRequest {
  const contentType = method === 'PATCH' ? merge : 'application/json';
  if (body === undefined) return { method, target, headers: {}, body: '' };
  return { method, target, headers: { 'content-type': contentType }, body: JSON.stringify(body) };
}

/** Each has its own account with rights that seemed harmless. */
export async function knownAttacks(world: World): Promise<Attack[]> {
  const { authenticated, nodes } = dialect.groups;
  const rbac = dialect.groupName('rbac');
  const by = async (
    name: string,
    where: 'tenant' | 'everywhere',
    rule: PolicyRule,
    requests: readonly RawRequest[],
  ) => {
    await giveRules(world, `attack-${name}`, { kind: 'User', apiGroup: rbac, name }, { rules: [rule], where });
    return { account: { name, groups: [authenticated] }, requests };
  };
  const other = '/api/v1/namespaces/tenant/namespaces';
  const roles = `/apis/${rbac}/v1/clusterroles`;
  const claim = '/api/v1/namespaces/tenant/persistentvolumeclaims/mine/status';
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: 'gone' };
  const pod = {
    metadata: { name: 'made', annotations: { [dialect.annotations.configMirror]: 'x' } },
    spec: { nodeName: 'n1', automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
  };
  return [
    await by('owner', 'tenant', { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, [
      request('PATCH', `${other}/victim`, { metadata: { labels: { a: 'b' } } }),
      request('PUT', `${other}/victim/finalize`, { metadata: { name: 'victim' }, spec: { finalizers: [] } }),
      request('DELETE', `${other}/victim`),
      request('GET', other),
      request('GET', `${other}?watch=1`),
      request('GET', '/api/v1/watch/namespaces/tenant/namespaces'),
      request('POST', other, { metadata: { name: 'made' } }),
      request('GET', '/api/v1/namespaces/tenant/nodes/n1'),
      // Not a method that opens a session.
      {
        method: 'OPTIONS',
        target: '/api/v1/namespaces/tenant/pods/other/exec?command=id&stdout=1',
        headers: {
          ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
          ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol': 'v4.channel.k8s.io' },
        },
        body: '',
      },
    ]),
    await by(
      'one-secret',
      'tenant',
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] },
      [
        request('GET', '/api/v1/namespaces/tenant/secrets/mine?watch=1&fieldSelector=metadata.name!%3Dmine'),
        request('GET', '/api/v1/watch/namespaces/tenant/secrets/mine?fieldSelector=metadata.name!%3Dmine'),
        request('GET', '/api/v1/watch/namespaces/tenant/secrets/mine?fieldSelector=type%3DOpaque'),
      ],
    ),
    await by('labels', 'everywhere', { verbs: ['patch'], apiGroups: [rbac], resources: ['clusterroles'] }, [
      request('PATCH', `${roles}/strong`, { metadata: { labels: { gather: 'yes' } } }),
      request('PATCH', `${roles}/gathered`, { aggregationRule: null }),
    ]),
    {
      account: { name: 'system:node:n1', groups: [nodes, authenticated] },
      requests: [
        request('PATCH', claim, { metadata: { ownerReferences: [owner] } }),
        request('GET', '/api/v1/namespaces/tenant/secrets/expand'),
        request('GET', '/api/v1/watch/namespaces/tenant/secrets/mine?fieldSelector=metadata.name!%3Dmine'),
        request('POST', '/api/v1/namespaces/tenant/pods', pod),
      ],
    },
  ];
}

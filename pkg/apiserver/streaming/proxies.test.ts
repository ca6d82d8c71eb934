import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { endpoints, nodes, pods, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Node, Pod, Service } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { requestInfo } from '#apiserver/http/request-info.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { RequestScope } from '#apiserver/pipeline/request-scope.js';
import { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { proxies } from '#apiserver/streaming/proxies.js';
import { staticTls } from '#http/client/credentials.js';

/** A server on this machine, objects that refer to it, and a client. */
async function start(t: Test) {
  const seen: string[] = [];
  const victim = createServer((request, response) => {
    seen.push(request.url ?? '');
    response.end('reached');
  });
  // All interfaces, with IPv6 if available.
  await new Promise<void>((resolve) => victim.listen(0, resolve));
  t.teardown(() => victim.close());
  const { port } = victim.address() as AddressInfo;
  const reader = new MemoryObjectReader();
  const names: Record<string, string[]> = {};
  const requests: string[] = [];
  const resolve = async (name: string) => {
    requests.push(name);
    return (names[name] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  const nodeAgents = new NodeAgents({
    reader,
    tls: staticTls({}),
    addressTypes: ['InternalIP', 'Hostname'],
    defaultPort: 1,
    resolve,
  });
  const all = proxies({ dialect, reader, nodeAgents, resolve, random: () => 0, clock: realClock });
  const ask = async (url: string): Promise<string> => {
    const request = {
      method: 'GET',
      url,
      headers: {},
      body: Buffer.alloc(0),
      remoteAddress: '192.0.2.1',
      signal: new AbortController().signal,
    };
    const info = requestInfo(request);
    const scope = new RequestScope(request, info, { auditId: '', warnings: [] });
    const endpoint = all.find(({ resource }) => resource === info.resource);
    try {
      const answer = await endpoint?.connect?.(scope);
      const parts: Buffer[] = [];
      for await (const part of (answer?.body ?? []) as AsyncIterable<Buffer>) parts.push(part);
      return `${answer?.status} ${Buffer.concat(parts).toString()}`;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return `${error.status.code} ${error.status.message}`;
    }
  };
  return { reader, port, seen, names, requests, ask };
}

const refused = '400 address not allowed';
/** Special addresses, in many spellings. */
const special = [
  ...[
    '127.0.0.1',
    '::1',
    '0::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:7f00:1',
    '::ffff:127.0.0.1',
    '::7f00:1',
    '::1%lo',
    '127.1',
  ],
  ...['0.0.0.0', '::', '::0', '::ffff:0.0.0.0', '169.254.169.254', '::ffff:a9fe:a9fe', 'fe80::1', 'fe80::1%lo'],
  ...['224.0.0.1', 'ff02::1', '255.255.255.255', '', 'localhost'],
];

t.test('requests to a pod go only to its own address', async (t) => {
  const { reader, port, seen, ask } = await start(t);
  for (const podIP of special) {
    reader.put<Pod>(pods, {
      metadata: { name: 'p', namespace: 'ns' },
      spec: { containers: [] },
      status: { podIP },
    } as unknown as Pod);
    for (const target of ['p', `p:${port}`, `https:p:${port}`]) {
      t.equal(await ask(`/api/v1/namespaces/ns/pods/${target}/proxy/x`), refused, `${target} at ${podIP}`);
    }
  }
  t.same(seen, []);
  for (const target of ['ftp:p:80', ':80', 'http::80', 'a:b:c:d']) {
    const expected = `400 invalid pod request ${JSON.stringify(target)}`;
    t.equal(await ask(`/api/v1/namespaces/ns/pods/${target}/proxy/x`), expected);
  }
});

t.test('Endpoints route only to pods of their namespace, and not to this machine', async (t) => {
  const { reader, port, seen, ask } = await start(t);
  const service = { metadata: { name: 's', namespace: 'ns' }, spec: { ports: [{ port: 80 }] } };
  reader.put<Service>(services, service as unknown as Service);
  const none = '503 no endpoints available for service "s"';
  const get = () => ask('/api/v1/namespaces/ns/services/s/proxy/x');
  const lead = (ip: string, targetRef?: object) => {
    const subsets = [{ addresses: [{ ip, ...(targetRef && { targetRef }) }], ports: [{ port }] }];
    reader.put<Endpoints>(endpoints, { metadata: { name: 's', namespace: 'ns' }, subsets } as unknown as Endpoints);
  };
  const pod = (namespace: string, ip: string) =>
    reader.put<Pod>(pods, { metadata: { name: 'p', namespace }, status: { podIP: ip } } as unknown as Pod);
  for (const ip of special) {
    lead(ip);
    t.equal(await get(), none, `${ip} without a pod`);
    pod('ns', ip);
    lead(ip, { kind: 'Pod', name: 'p', namespace: 'ns' });
    t.equal(await get(), refused, `${ip} of a pod`);
  }
  // No server is at this address: nothing may be sent there.
  pod('ns', '192.0.2.7');
  pod('other', '192.0.2.8');
  lead('192.0.2.8', { kind: 'Pod', name: 'p', namespace: 'other' });
  t.equal(await get(), none, 'a pod of another namespace');
  lead('192.0.2.8', { kind: 'Pod', name: 'p', namespace: 'ns' });
  t.equal(await get(), none, 'an address that the pod does not have');
  lead('192.0.2.7', { kind: 'Pod', name: 'q', namespace: 'ns' });
  t.equal(await get(), none, 'a missing pod');
  t.equal(
    await ask('/api/v1/namespaces/ns/services/s:81/proxy/x'),
    '503 no service port 81 found for service "s"',
    'a port that the service does not have',
  );
  t.same(seen, []);
});

t.test("a node's other ports do not get this server's credentials", async (t) => {
  const { reader, port, seen, names, ask } = await start(t);
  const node = (type: string, address: string, agentPort = 2) =>
    reader.put<Node>(nodes, {
      metadata: { name: 'n' },
      status: { addresses: [{ type, address }], daemonEndpoints: { kubeletEndpoint: { Port: agentPort } } },
    } as unknown as Node);
  for (const address of special.filter((each) => each !== 'localhost' && each !== '' && each !== '127.1')) {
    node('InternalIP', address);
    t.equal(await ask(`/api/v1/nodes/n:${port}/proxy/x`), refused, address);
  }
  names['localhost'] = ['127.0.0.1', '::1'];
  names['127.1'] = ['127.0.0.1'];
  names['two.test'] = ['192.0.2.1', '127.0.0.1'];
  for (const name of ['localhost', '127.1', 'two.test']) {
    node('Hostname', name);
    t.equal(await ask(`/api/v1/nodes/n:${port}/proxy/x`), refused, name);
  }
  node('Hostname', 'none.test');
  t.equal(await ask(`/api/v1/nodes/n:${port}/proxy/x`), '400 no addresses for hostname');
  t.equal(await ask('/api/v1/nodes/ftp:n:1/proxy/x'), '400 invalid node request "ftp:n:1"');
  t.same(seen, []);
});

t.test("a node's agent may run on this machine, and its name is resolved once", async (t) => {
  const { reader, names, requests, ask } = await start(t);
  const agent = createServer((request, response) => response.end(`agent ${request.url}`));
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  t.teardown(() => agent.close());
  const { port } = agent.address() as AddressInfo;
  const at = (type: string, address: string) =>
    reader.put<Node>(nodes, {
      metadata: { name: 'n' },
      status: { addresses: [{ type, address }], daemonEndpoints: { kubeletEndpoint: { Port: port } } },
    } as unknown as Node);
  // Agents use TLS; the error of this plain server shows that it was reached.
  const reached = /^503 error trying to reach service: http: server gave HTTP response to HTTPS client$/;
  at('InternalIP', '127.0.0.1');
  t.match(await ask('/api/v1/nodes/n/proxy/x'), reached);
  t.match(await ask(`/api/v1/nodes/n:${port}/proxy/x`), reached, 'by its port');
  names['agent.test'] = ['127.0.0.1'];
  at('Hostname', 'agent.test');
  t.match(await ask('/api/v1/nodes/n/proxy/x'), reached, 'by a name that only this resolver knows');
  t.same(requests, ['agent.test']);
  for (const address of ['169.254.169.254', '0.0.0.0', '::', '224.0.0.1', 'fe80::1%lo']) {
    at('InternalIP', address);
    t.equal(await ask('/api/v1/nodes/n/proxy/x'), refused, address);
  }
});

t.test('the path behind the subresource is forwarded', async (t) => {
  for (const [url, tail, search] of [
    ['/api/v1/nodes/n/proxy', '', ''],
    ['/api/v1/nodes/n/proxy/', '/', ''],
    ['/api/v1/nodes/n/proxy?a=/b', '', '?a=/b'],
    ['/api/v1/nodes/n/proxy/a/b/?x=1&y=?', '/a/b/', '?x=1&y=?'],
    ['/api/v1/nodes/n/proxy//a%2Fb', '//a%2Fb', ''],
    ['/api/v1/nodes/n/%70roxy/a', '/a', ''],
    ['//api/v1/nodes/n/proxy/nodes/m/proxy/a', '/nodes/m/proxy/a', ''],
    ['/api/v1/namespaces/services/services/proxy/proxy/a', '/a', ''],
    ['/api/v1/namespaces/pods/pods/pods/proxy/pods/pods/proxy', '/pods/pods/proxy', ''],
  ] as const) {
    t.match(requestInfo({ method: 'GET', url }), { tail, search }, url);
  }
});

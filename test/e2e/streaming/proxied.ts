/** Sessions and upgrades through the proxies of the API server: of nodes, of pods and of Services. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { bytesOf, openSpdy, spdyCommand } from '#nodeagent/testing/spdy-session.js';
import { eventually } from '#test/e2e/harness.js';
import { type Server, serverOf } from '#test/e2e/leaving/client.js';

/**
 * A shell command that serves its own protocol at the port. It switches protocols for `/echo`, where it sends the request
 * line and then echoes all input, and for `/deaf`, where it reads nothing. It refuses `/refuse`, and answers all other paths
 * without a switch.
 */
export function echoServer(port: number): string {
  const program = String.raw`#!/bin/sh
read -r first
while read -r line && [ "$line" != "$(printf '\r')" ]; do :; done
case "$first" in
  *' /echo'*)
    printf 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'
    echo "$first"
    exec cat ;;
  *' /deaf'*)
    printf 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'
    exec sleep 1000000 ;;
  *' /refuse'*) printf 'HTTP/1.1 418 No\r\nContent-Length: 5\r\n\r\nnever' ;;
  *) printf 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' ;;
esac`;
  const file = '/tmp/echo';
  return `cat > ${file} << 'END'\n${program}\nEND\nchmod +x ${file}; nc -ll -p ${port} -e ${file} &`;
}

export interface ProxiedOptions {
  readonly kubeconfig: string;
  readonly node: string;
  /** A pod that runs `echoServer`, and its Service. */
  readonly pod: string;
  readonly port: number;
  readonly service: string;
  readonly servicePort: string;
}

export async function proxiedStreams(t: Test, options: ProxiedOptions): Promise<void> {
  const server = await serverOf(options.kubeconfig);
  await throughNode(t, server, options);
  const { pod, port, service, servicePort } = options;
  const at = '/api/v1/namespaces/default';
  for (const proxy of [`${at}/pods/${pod}:${port}/proxy`, `${at}/services/${service}:${servicePort}/proxy`]) {
    await throughProxy(t, server, proxy);
  }
}

/** The agent's own paths, below the proxy of its node. */
async function throughNode(t: Test, server: Server, { node, pod }: ProxiedOptions): Promise<void> {
  const { host, port, ...tls } = server;
  const at = `${host}:${port}/api/v1/nodes/${node}/proxy`;
  const script = encodeURIComponent('cat; echo err >&2; exit 5');
  const exec = `exec/default/${pod}/main?input=1&output=1&error=1&command=sh&command=-c&command=${script}`;
  const sent = Buffer.alloc(300_000, 'sent ');
  const protocols = ['v4.channel.k8s.io'];
  const status = { reason: 'NonZeroExitCode', details: { causes: [{ message: '5' }] } };
  for (const method of ['GET', 'POST']) {
    const target = { url: `https://${at}/${exec}`, method, protocols, tls };
    const result = await spdyCommand(target, ['error', 'stdin', 'stdout', 'stderr'], (stdin) => stdin.end(sent));
    t.ok(result.stdout.equals(sent), `exec over SPDY by ${method}`);
    t.match(result, { protocol: 'v4.channel.k8s.io', stderr: Buffer.from('err\n') });
    t.match(JSON.parse(result.error), status);
  }
  const refused = { url: `https://${at}/${exec}`, protocols: ['v9.channel.k8s.io'], tls };
  await t.rejects(openSpdy(refused), { code: 403, body: /unable to negotiate protocol/ });

  const channels = await new Promise<Record<number, string>>((resolve, reject) => {
    const socket = new WebSocket(`wss://${at}/${exec}`, ['v5.channel.k8s.io'], { ...tls, rejectUnauthorized: false });
    const got: Record<number, string> = {};
    socket.on('open', () => {
      socket.send(Buffer.concat([Buffer.from([0]), sent]));
      socket.send(Buffer.from([255, 0]));
    });
    socket.on('message', (data: Buffer) => {
      const channel = data[0] ?? -1;
      got[channel] = (got[channel] ?? '') + data.toString('latin1', 1);
    });
    socket.on('close', () => resolve(got));
    socket.on('error', reject);
  });
  t.ok(channels[1] === sent.toString(), 'exec over WebSocket');
  t.equal(channels[2], 'err\n');
  t.match(JSON.parse(channels[3] ?? ''), status);

  const forward = { url: `https://${at}/portForward/default/${pod}`, protocols: ['portforward.k8s.io'], tls };
  const { session } = await openSpdy(forward);
  session.open({ streamtype: 'error', port: '8080', requestid: '0' }).end();
  const data = session.open({ streamtype: 'data', port: '8080', requestid: '0' });
  data.end('GET /big HTTP/1.0\r\n\r\n');
  t.ok((await bytesOf(data)).length > 1024 * 1024, 'port-forward');
  session.close();
  const plain = await ask(server, `/api/v1/nodes/${node}/proxy/${exec}`, {});
  t.match(plain, { code: 500, body: 'Upgrade request required\n' }, 'exec without an upgrade');
}

/** A server in the pod that switches to another protocol. */
async function throughProxy(t: Test, server: Server, proxy: string): Promise<void> {
  const upgrade = { Connection: 'Upgrade', Upgrade: 'echo' };
  const { socket } = await eventually('the proxy reaches the pod', async () => {
    const answer = await ask(server, `${proxy}/echo/a%20b?c=d%20e`, upgrade);
    if (answer.socket === undefined) throw new Error(`${answer.code}: ${answer.body}`);
    return { socket: answer.socket };
  });
  const sent = Buffer.alloc(1_000_000, 'over ');
  socket.write(sent);
  const first = 'GET /echo/a%20b?c=d%20e HTTP/1.1\r\n';
  let got = '';
  for await (const part of socket) {
    got += String(part);
    // As in 1.24 the end of one direction ends both.
    if (got.length === first.length + sent.length) socket.end();
  }
  t.equal(got.slice(0, first.length), first, `${proxy}: path and query arrive`);
  t.ok(got.slice(first.length) === sent.toString(), 'bytes both ways');
  // Answers without a switch: errors are passed on unchanged, other answers fail the upgrade.
  t.match(await ask(server, `${proxy}/refuse`, upgrade), { code: 418, body: 'never' });
  t.match(await ask(server, `${proxy}/other`, upgrade), {
    code: 500,
    body: /"invalid upgrade response: status code 200"/,
  });
  t.match(await ask(server, `${proxy}/other`, {}), { code: 200, body: '' }, 'and without an upgrade');
}

interface Answer {
  readonly code: number;
  readonly body: string;
  /** The connection, when it was switched. */
  readonly socket?: Duplex;
}

async function ask(server: Server, path: string, headers: Record<string, string>): Promise<Answer> {
  const call = request({ ...server, path, headers, agent: false, rejectUnauthorized: false });
  call.end();
  const answered = once(call, 'response') as Promise<[IncomingMessage]>;
  const switched = once(call, 'upgrade') as Promise<[IncomingMessage, Duplex, Buffer]>;
  const [response, socket, head] = await Promise.race([answered, switched]);
  for (const waiting of [answered, switched]) waiting.catch(() => undefined);
  if (socket === undefined) return { code: response.statusCode ?? 0, body: await text(response) };
  if (head !== undefined && head.length > 0) socket.unshift(head);
  return { code: 101, body: '', socket };
}

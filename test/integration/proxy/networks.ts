/** A node with two pods and an outside client, in network namespaces of the test. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { runWithInput } from '#proxy/program/run-program.js';
import { run } from '#test/e2e/harness.js';

export const outsideAddress = '198.18.77.2';
export const nodeAddress = '198.18.77.1';
export const podAddresses = ['10.244.0.2', '10.244.0.3'] as const;
export const outsideAddress6 = 'fd00:77::2';
export const nodeAddress6 = 'fd00:77::1';
export const podAddresses6 = ['fd00:244::2', 'fd00:244::3'] as const;

/** Every server listens on this port. */
const ports = [8080, 8081, 8082];

/** Responds with its own address and its client's. */
const server = `const plain = (address) => address.replace(/^::ffff:/, '');
const http = require('http');
const answer = ({ socket: { localAddress, remoteAddress } }, response) => {
  response.setHeader('connection', 'close');
  response.end(plain(localAddress) + ' ' + plain(remoteAddress));
};
const listening = ${JSON.stringify(ports)}.map((port) => new Promise((done) => http.createServer(answer).listen(port, '::', done)));
Promise.all(listening).then(() => console.log('listening'));`;

interface Connection {
  /** Address with prefix length, on the node's side and on the other. */
  readonly near: string;
  readonly far: string;
  readonly gateway: string;
}

/** A node, two of its pods, and an outside client, each in a network namespace. */
export class Networks {
  readonly node = `px${process.pid}n`;
  readonly outside = `px${process.pid}o`;
  readonly pods = podAddresses.map((_, i) => `px${process.pid}p${i}`);

  readonly #servers: ChildProcess[] = [];

  /** Each has a server. */
  async build(): Promise<void> {
    for (const name of this.#all) this.#ip('netns', 'add', name);
    for (const name of this.#all) this.#ip('-n', name, 'link', 'set', 'lo', 'up');
    this.#connect(this.outside, 'out', {
      near: `${nodeAddress}/24`,
      far: `${outsideAddress}/24`,
      gateway: nodeAddress,
    });
    this.#connect6(this.outside, 'out', {
      near: `${nodeAddress6}/64`,
      far: `${outsideAddress6}/64`,
      gateway: nodeAddress6,
    });
    for (const [i, pod] of this.pods.entries()) {
      this.#connect(pod, `pod${i}`, { near: '10.244.0.1/32', far: `${podAddresses[i]}/32`, gateway: '10.244.0.1' });
      this.#connect6(pod, `pod${i}`, {
        near: 'fd00:244::1/128',
        far: `${podAddresses6[i]}/128`,
        gateway: 'fd00:244::1',
      });
      this.#ip('-n', this.node, 'route', 'add', `${podAddresses[i]}/32`, 'dev', `pod${i}`);
      this.#ip('-n', this.node, 'route', 'add', `${podAddresses6[i]}/128`, 'dev', `pod${i}`);
    }
    await this.inNode('sysctl', ['-q', '-w', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1']);
    // Packets for service addresses need a route before they are translated.
    this.#ip('-n', this.node, 'route', 'add', 'default', 'via', outsideAddress);
    await Promise.all(this.#all.map((name) => this.#serve(name)));
  }

  async #serve(name: string): Promise<void> {
    const stdio = ['ignore', 'pipe', 'inherit'] as const;
    const running = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', server], { stdio: [...stdio] });
    this.#servers.push(running);
    if (running.stdout !== null) await once(running.stdout, 'data');
  }

  #connect(name: string, link: string, { far, gateway, near }: Connection): void {
    this.#ip('-n', this.node, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    this.#ip('-n', this.node, 'address', 'add', near, 'dev', link);
    this.#ip('-n', this.node, 'link', 'set', link, 'up');
    this.#ip('-n', name, 'address', 'add', far, 'dev', 'eth0');
    this.#ip('-n', name, 'link', 'set', 'eth0', 'up');
    this.#ip('-n', name, 'route', 'replace', `${gateway}/32`, 'dev', 'eth0', 'scope', 'link');
    this.#ip('-n', name, 'route', 'add', 'default', 'via', gateway);
  }

  #connect6(name: string, link: string, { far, gateway, near }: Connection): void {
    this.#ip('-n', this.node, 'address', 'add', near, 'dev', link, 'nodad');
    this.#ip('-n', name, 'address', 'add', far, 'dev', 'eth0', 'nodad');
    this.#ip('-n', name, 'route', 'replace', `${gateway}/128`, 'dev', 'eth0');
    this.#ip('-n', name, 'route', 'add', 'default', 'via', gateway, 'dev', 'eth0');
  }

  inNode(program: string, args: readonly string[], input?: string): Promise<string> {
    return runWithInput('ip', ['netns', 'exec', this.node, program, ...args], input);
  }

  /** The server's response, or why there is none. */
  async fetch(from: string, to: string): Promise<string> {
    const wget = ['busybox', 'timeout', '1', 'busybox', 'wget', '-q', '-O-', `http://${to}/`];
    const { code, stderr, stdout } = await run('ip', ['netns', 'exec', from, ...wget]);
    if (code === 0) return stdout;
    return stderr.includes('refused') ? 'refused' : 'silence';
  }

  close(): void {
    for (const running of this.#servers) running.kill();
    for (const name of this.#all) {
      try {
        this.#ip('netns', 'delete', name);
      } catch {
        // It was not created.
      }
    }
  }

  get #all(): string[] {
    return [this.node, this.outside, ...this.pods];
  }

  #ip(...args: string[]): void {
    execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  }
}

/** Machines for tests: network namespaces with their own addresses, on networks behind a router. */
import { execFileSync } from 'node:child_process';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import { type RunOptions, type RunResult, run } from '#test/e2e/harness.js';

export interface Host {
  /** Name of its network namespace. */
  readonly name: string;
  readonly address: string;
  /** IPv6 address. */
  readonly address6: string;
  /** Runs a program on the host, to its end. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>;
  /** The command line that runs the program on the host. */
  command(command: string, args: readonly string[]): [string, string[]];
  /** Drops all packets of the host in both directions; its own link stays up. */
  cutOff(): void;
  reconnect(): void;
}

export interface HostNetwork {
  readonly hosts: readonly Host[];
  /** Takes the link of the host down or up. */
  setLink(host: Host, state: 'up' | 'down'): void;
  destroy(): void;
}

const ip = (...args: string[]) => void execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });

/**
 * `networks`: the number of hosts on each; the n-th network is 10.250.n.0/24 and fd00:250:n::/64. Throws if namespaces
 * cannot be created.
 */
export function makeHosts(networks: readonly number[]): HostNetwork {
  const id = process.pid.toString(36);
  const router = `orch-r-${id}`;
  const namespaces: string[] = [];
  const add = (name: string) => {
    ip('netns', 'add', name);
    namespaces.push(name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  };
  const destroy = () => {
    // Links inside disappear with their namespace.
    for (const name of namespaces.splice(0)) ip('netns', 'delete', name);
  };
  const hosts: Host[] = [];
  const ports = new Map<string, string>();
  const setLink = ({ name }: Host, state: 'up' | 'down') =>
    ip('-n', router, 'link', 'set', ports.get(name) ?? '', state);
  try {
    add(router);
    const forward = 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding';
    execFileSync('nsenter', [`--net=/run/netns/${router}`, 'sh', '-c', forward]);
    for (const [network, count] of networks.entries()) {
      const bridge = `br${network}`;
      ip('-n', router, 'link', 'add', bridge, 'type', 'bridge');
      ip('-n', router, 'address', 'add', `10.250.${network}.254/24`, 'dev', bridge);
      ip('-n', router, 'address', 'add', `fd00:250:${network}::fe/64`, 'dev', bridge, 'nodad');
      ip('-n', router, 'link', 'set', bridge, 'up');
      for (let place = 1; place <= count; place++) {
        const name = `orch-h${network}${place}-${id}`;
        const port = `p${network}${place}`;
        const address = `10.250.${network}.${place}`;
        const address6 = canonicalAddress(`fd00:250:${network}::${place}`) ?? '';
        add(name);
        ports.set(name, port);
        ip('link', 'add', port, 'netns', router, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
        ip('-n', router, 'link', 'set', port, 'master', bridge, 'up');
        ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
        ip('-n', name, 'address', 'add', `${address6}/64`, 'dev', 'eth0', 'nodad');
        ip('-n', name, 'link', 'set', 'eth0', 'up');
        ip('-n', name, 'route', 'add', 'default', 'via', `10.250.${network}.254`);
        ip('-n', name, 'route', 'add', 'default', 'via', `fd00:250:${network}::fe`);
        const command = (program: string, args: readonly string[]): [string, string[]] => [
          'nsenter',
          [`--net=/run/netns/${name}`, program, ...args],
        ];
        hosts.push({
          name,
          address,
          address6,
          command,
          run: (program, args, options) => run(...command(program, args), options),
          cutOff: () => ip('-n', router, 'link', 'set', port, 'nomaster'),
          reconnect: () => ip('-n', router, 'link', 'set', port, 'master', bridge),
        });
      }
    }
  } catch (error) {
    destroy();
    throw error;
  }
  return { hosts, setLink, destroy };
}

/** Machines for tests: network namespaces with addresses of their own, on networks between which a router is. */
import { execFileSync } from 'node:child_process';
import { type RunOptions, type RunResult, run } from '#test/e2e/harness.js';

export interface Host {
  readonly name: string;
  readonly address: string;
  /** Runs a program on it, to its end. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>;
}

export interface HostNetwork {
  readonly hosts: readonly Host[];
  destroy(): void;
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });

/**
 * `networks`: how many hosts each has; the addresses of the n-th are those of 10.250.n.0/24. Throws where namespaces
 * cannot be made.
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
    // What is in them goes with them.
    for (const name of namespaces.splice(0)) ip('netns', 'delete', name);
  };
  const hosts: Host[] = [];
  try {
    add(router);
    execFileSync('nsenter', [`--net=/run/netns/${router}`, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
    for (const [network, count] of networks.entries()) {
      const bridge = `br${network}`;
      ip('-n', router, 'link', 'add', bridge, 'type', 'bridge');
      ip('-n', router, 'address', 'add', `10.250.${network}.254/24`, 'dev', bridge);
      ip('-n', router, 'link', 'set', bridge, 'up');
      for (let place = 1; place <= count; place++) {
        const name = `orch-h${network}${place}-${id}`;
        const port = `p${network}${place}`;
        const address = `10.250.${network}.${place}`;
        add(name);
        ip('link', 'add', port, 'netns', router, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
        ip('-n', router, 'link', 'set', port, 'master', bridge, 'up');
        ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
        ip('-n', name, 'link', 'set', 'eth0', 'up');
        ip('-n', name, 'route', 'add', 'default', 'via', `10.250.${network}.254`);
        const enter = `--net=/run/netns/${name}`;
        hosts.push({
          name,
          address,
          run: (command, args, options) => run('nsenter', [enter, command, ...args], options),
        });
      }
    }
  } catch (error) {
    destroy();
    throw error;
  }
  return { hosts, destroy };
}

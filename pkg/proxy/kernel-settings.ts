/** Kernel settings without which packets for services would not reach the rules. */
import { readFile, writeFile } from 'node:fs/promises';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RunWithInput } from '#proxy/program/run-program.js';
import type { ProxySettings } from '#proxy/services/proxy-settings.js';

/** Files below /proc/sys, by their path there. */
export interface KernelSettings {
  /** Rejects if the setting does not exist. */
  read(name: string): Promise<string>;
  write(name: string, value: string): Promise<void>;
}

export const kernelSettings: KernelSettings = {
  read: async (name) => (await readFile(`/proc/sys/${name}`, 'utf8')).trim(),
  write: (name, value) => writeFile(`/proc/sys/${name}`, value),
};

export interface PreparedKernel {
  /** Packets between ports of a bridge bypass the packet filter. */
  readonly isBridgeUnfiltered: boolean;
}

/** Changes the settings; logs those that cannot be changed, and continues. */
export async function prepareKernel(
  kernel: KernelSettings,
  run: RunWithInput,
  { log, settings }: { readonly log: Logger; readonly settings: Pick<ProxySettings, 'nodePortAddresses'> },
): Promise<PreparedKernel> {
  const set = async (name: string): Promise<boolean> => {
    try {
      if ((await kernel.read(name)) !== '1') await kernel.write(name, '1');
      return true;
    } catch (error) {
      log.debug({ setting: name, problem: messageOf(error) }, 'cannot change a kernel setting');
      return false;
    }
  };
  const { nodePortAddresses: ranges } = settings;
  const isAtLoopback = ranges.length === 0 || ranges.some((range) => range.startsWith('127.'));
  if (isAtLoopback && !(await set('net/ipv4/conf/all/route_localnet')))
    log.warn('cannot set net.ipv4.conf.all.route_localnet; node ports do not work at 127.0.0.1');
  const filters = async () =>
    (await set('net/bridge/bridge-nf-call-iptables')) && (await set('net/bridge/bridge-nf-call-ip6tables'));
  let isFiltered = await filters();
  if (!isFiltered) {
    // The module is not loaded, or does not exist.
    await run('modprobe', ['br_netfilter']).catch(() => undefined);
    isFiltered = await filters();
  }
  if (!isFiltered) {
    log.warn(
      'kernel module br_netfilter is missing: pods see the node as the client of services on their own node, and network policies do not apply between pods of one node',
    );
  }
  return { isBridgeUnfiltered: !isFiltered };
}

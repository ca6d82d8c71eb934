/** The host's own resolver configuration. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';
import type { DNSConfig } from '#nodeagent/cri/cri.js';
import { parseResolvConf } from '#nodeagent/environment/dns.js';

/** How long the host's resolver configuration is taken to stay as it was read. */
const hostDNSMs = 10_000;

/** Reads the file at `path` when it is asked for, and not again for a while. An empty path has none. */
export function hostDNSReader(
  path: string,
  { clock, hostIPs }: { clock: Clock; hostIPs: () => readonly string[] },
): () => Promise<DNSConfig> {
  let known: { at: number; config: Promise<DNSConfig> } | undefined;
  return () => {
    // No names are to be looked up; without any line the runtime would give the host's own.
    if (path === '') {
      const servers = hostIPs().map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
      return Promise.resolve({ servers, searches: ['.'], options: [] });
    }
    if (known === undefined || clock.monotonic() - known.at > hostDNSMs) {
      known = { at: clock.monotonic(), config: hostDNS(path) };
    }
    return known.config;
  };
}

async function hostDNS(path: string): Promise<DNSConfig> {
  try {
    return parseResolvConf(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { servers: [], searches: [], options: [] };
    throw error;
  }
}

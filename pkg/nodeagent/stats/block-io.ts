/** Block I/O of a cgroup, from its files; version 1 and 2. */
import { readFile } from 'node:fs/promises';

/** Amounts by operation: `Read`, `Write`, and others of the kernel. */
export type ByOperation = Readonly<Record<string, number>>;

export interface DeviceIO {
  readonly major: string;
  readonly minor: string;
  /** `/dev/sda`; empty for unnamed devices. */
  readonly device: string;
  readonly bytes: ByOperation;
  readonly operations: ByOperation;
}

type Counters = Omit<DeviceIO, 'device' | 'major' | 'minor'>;
/** By `major:minor`. */
type Devices = ReadonlyMap<string, Counters>;

/** Parses `blkio.throttle.io_service_bytes_recursive` and `blkio.throttle.io_serviced_recursive`. */
export function parseBlkio(bytesText: string, operationsText: string): Devices {
  const [bytes, operations] = [linesOf(bytesText), linesOf(operationsText)];
  return new Map(
    [...bytes].map(([device, counts]) => [device, { bytes: counts, operations: operations.get(device) ?? {} }]),
  );
}

/** Lines like `8:0 Read 4096`; the last has the total of all devices. */
function linesOf(text: string): Map<string, Record<string, number>> {
  const devices = new Map<string, Record<string, number>>();
  for (const [, device = '', operation = '', amount] of text.matchAll(/^(\d+:\d+) (\w+) (\d+)$/gm)) {
    devices.set(device, { ...devices.get(device), [operation]: Number(amount) });
  }
  return devices;
}

const operationOf: Readonly<Record<string, string>> = { r: 'Read', w: 'Write', d: 'Discard' };

/** Parses `io.stat`: lines like `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. */
export function parseIoStat(text: string): Devices {
  const devices = new Map<string, Counters>();
  for (const [, device = '', fields = ''] of text.matchAll(/^(\d+:\d+)((?: \w+=\d+)+)$/gm)) {
    const bytes: Record<string, number> = {};
    const operations: Record<string, number> = {};
    for (const [, kind = '', what, amount] of fields.matchAll(/ ([rwd])(bytes|ios)=(\d+)/g)) {
      (what === 'bytes' ? bytes : operations)[operationOf[kind] ?? kind] = Number(amount);
    }
    devices.set(device, { bytes, operations });
  }
  return devices;
}

/** Names of block devices, cached. */
export class DeviceNames {
  readonly #names = new Map<string, string>();

  async named(devices: Devices): Promise<DeviceIO[]> {
    return Promise.all(
      [...devices].map(async ([numbers, counters]) => {
        const [major = '', minor = ''] = numbers.split(':');
        return { major, minor, device: await this.#name(numbers), ...counters };
      }),
    );
  }

  async #name(numbers: string): Promise<string> {
    const cachedName = this.#names.get(numbers);
    if (cachedName !== undefined) return cachedName;
    const text = await readFile(`/sys/dev/block/${numbers}/uevent`, 'utf8').catch(() => '');
    const name = /^DEVNAME=(\S+)$/m.exec(text)?.[1];
    const path = name === undefined ? '' : `/dev/${name}`;
    this.#names.set(numbers, path);
    return path;
  }
}

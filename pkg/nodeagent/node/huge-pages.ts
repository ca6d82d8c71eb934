/** The kernel's huge pages, over all NUMA nodes. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const folder = '/sys/kernel/mm/hugepages';

/** Bytes by page size in bytes: `{ 2097152: 1073741824 }`; empty if the kernel has none. */
export async function hugePages(dir = folder): Promise<Readonly<Record<number, number>>> {
  const bytesBySize: Record<number, number> = {};
  let names: string[];
  try {
    names = await readdir(dir);
  } catch {
    // The kernel does not support huge pages.
    return bytesBySize;
  }
  for (const name of names) {
    const kilobytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    if (kilobytes === 0) continue;
    const pages = Number((await readFile(join(dir, name, 'nr_hugepages'), 'utf8')).trim());
    if (Number.isSafeInteger(pages)) bytesBySize[kilobytes * 1024] = pages * kilobytes * 1024;
  }
  return bytesBySize;
}

const units = ['Ki', 'Mi', 'Gi', 'Ti'];

/** In the largest binary unit that divides it: `2Mi`, `1Gi`; `0` for nothing. */
export function binaryQuantity(bytes: number): string {
  let [amount, unit] = [bytes, ''];
  for (const next of units) {
    if (amount === 0 || amount % 1024 !== 0) break;
    [amount, unit] = [amount / 1024, next];
  }
  return `${amount}${unit}`;
}

/** Which user has the other end of a connection on this machine. */

/** Columns of /proc/net/tcp (proc(5)): `sl local_address rem_address st … uid`. */
const localColumn = 1;
const remoteColumn = 2;
const uidColumn = 7;

export interface ConnectionEnd {
  /** IPv4. */
  readonly address: string;
  readonly port: number;
}

/**
 * The user whose connection goes from one address to another; undefined if there is none. Pure.
 * @param table Text of /proc/net/tcp.
 */
export function portOwner(table: string, from: ConnectionEnd, to: ConnectionEnd): number | undefined {
  const [local, remote] = [from, to].map(columnOf);
  for (const line of table.split('\n').slice(1)) {
    const columns = line.trim().split(/\s+/);
    if (columns[localColumn] === local && columns[remoteColumn] === remote) return Number(columns[uidColumn]);
  }
  return undefined;
}

/** 127.0.0.1:8080 → `0100007F:1F90`: the address in the byte order of the machine, which is little-endian. */
function columnOf({ address, port }: ConnectionEnd): string {
  const bytes = address.split('.').map(Number).reverse();
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0');
  return `${bytes.map((byte) => hex(byte, 2)).join('')}:${hex(port, 4)}`;
}

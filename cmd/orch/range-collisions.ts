/** Ranges that a user gives to a new cluster and that this machine has in use already. */
import { SetupError } from '#cmd/orch/dispatch.js';
import { freeRange, type HostNetwork, overlaps } from '#cmd/orch/network.js';

/**
 * Throws a SetupError for the first option whose range is none, or overlaps a network of this machine: the packets of one
 * of them would go to the other.
 * @param given Name of the option and its value.
 */
export function refuseCollisions(given: ReadonlyMap<string, string>, networks: readonly HostNetwork[]): void {
  for (const [option, range] of given) {
    const taken = takenBy(option, range, networks);
    if (taken === undefined) continue;
    const { link, address, bits } = taken;
    const free = freeRange(range, networks);
    const advice = free === undefined ? 'give a smaller one' : `give one that is free, for example --${option}=${free}`;
    throw new SetupError(
      `--${option} ${range} overlaps the network of interface ${link} of this machine (${address}/${bits}); ${advice}, or remove the interface`,
    );
  }
}

function takenBy(option: string, range: string, networks: readonly HostNetwork[]): HostNetwork | undefined {
  try {
    return networks.find((network) => overlaps(range, network));
  } catch (error) {
    if (error instanceof RangeError) throw new SetupError(`--${option}: ${error.message}`);
    throw error;
  }
}

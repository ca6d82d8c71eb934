/** Servers of one cluster are upgraded one at a time: whoever begins takes a lease. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { type Clock, formatMicroTime } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';

import type { Client } from '#client/client.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

const name = 'orch-upgrade';
/** An upgrade that was interrupted holds up the next one no longer. */
const durationSeconds = 900;

/** Resolves with what gives it back. Rejects with a SetupError while another server is being upgraded. */
export async function takeTurn(
  client: Client,
  holder: string,
  clock: Clock,
): Promise<(client: Client) => Promise<void>> {
  const namespace = client.dialect.namespaces.system;
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    acquireTime: formatMicroTime(clock.now()),
    renewTime: formatMicroTime(clock.now()),
  };
  const found = await client.resource(leases).get(name, { namespace }).catch(unlessNotFound);
  try {
    if (found === undefined) await client.resource(leases).create({ metadata: { name, namespace }, spec });
    else {
      refuseHeld(found, holder, clock.now());
      await client.resource(leases).update({ ...found, spec });
    }
  } catch (error) {
    if (isAlreadyExists(error) || isConflict(error))
      throw new SetupError('another server has begun its upgrade at this moment; wait until it is done');
    throw error;
  }
  return async (later) => {
    await later.resource(leases).delete(name, { namespace }).catch(unlessNotFound);
  };
}

function refuseHeld({ spec }: Lease, holder: string, now: number): void {
  const { holderIdentity = '', renewTime, leaseDurationSeconds = durationSeconds } = spec ?? {};
  if (holderIdentity === '' || holderIdentity === holder) return;
  const ends = Date.parse(renewTime ?? '') + leaseDurationSeconds * 1000;
  if (!(ends > now)) return;
  throw new SetupError(
    `server ${holderIdentity} is being upgraded: wait until it is done, or, when it was interrupted, until ${new Date(ends).toISOString()}`,
  );
}

function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

import { isConflict, statusOf } from '#apimachinery/errors/status.js';
import { termIsOver } from '#apimachinery/leader-fence.js';
import { isTransportError } from '#http/client/transport-error.js';

/**
 * Whether a write was refused because the leader's term is over: by `LeaderElector.fence`, or by the server because the
 * lock shows another term. The elector ends the work soon after.
 */
export function isTermOver(error: unknown): boolean {
  if (isTransportError(error, 'TermOver')) return true;
  return isConflict(error) && statusOf(error)?.message?.endsWith(termIsOver) === true;
}

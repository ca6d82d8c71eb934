/** `cpu=1,memory=1Gi`: amounts of resources. */
import { canonicalQuantity, isQuantity } from '#apimachinery/quantity.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/**
 * The amounts by resource, as pairs; undefined for no text. Throws a CommandError.
 *
 * @param fault First word of the refusal; release 1.24 has it with and without a capital.
 */
export function parseAmounts(text: string, fault: 'Invalid' | 'invalid'): [string, string][] | undefined {
  if (text === '') return undefined;
  return text.split(',').map((part) => {
    const [name, amount, more] = part.split('=');
    if (name === undefined || amount === undefined || more !== undefined) {
      throw new CommandError(`${fault} argument syntax ${part}, expected <resource>=<value>`);
    }
    if (!isQuantity(amount)) {
      throw new CommandError(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      );
    }
    return [name, canonicalQuantity(amount)];
  });
}

import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';
import { type ConnectionOptions, skipsVerification, tlsOf } from '#scheduler/extenders/connection.js';
import { HttpExtender } from '#scheduler/extenders/http-extender.js';
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';

/** Creates the configured extenders. Rejects with an OptionsError if certificates cannot be read. */
export async function httpExtenders(
  all: readonly ExtenderSettings[],
  { log, ...options }: ConnectionOptions & { readonly log: Logger },
): Promise<HttpExtender[]> {
  const errors: string[] = [];
  const extenders: HttpExtender[] = [];
  for (const [i, settings] of all.entries()) {
    try {
      await tlsOf(settings, options.clock).current();
      const extender = new HttpExtender(settings, options);
      extenders.push(extender);
      if (skipsVerification(settings) && settings.tls?.insecure !== true) {
        log.warn(
          { extender: extender.name },
          'extender certificate is not verified: enableHTTPS is set without a certificate authority',
        );
      }
    } catch (error) {
      errors.push(`extenders[${i}]: ${messageOf(error)}`);
    }
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return extenders;
}

/** Refuses new external addresses of services: with them, a user could take over traffic to any address. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/plugin.js';

export class DenyServiceExternalIPs implements AdmissionPlugin {
  readonly name = 'DenyServiceExternalIPs';
  readonly resources = [{ group: 'core', resource: 'services' }] as const;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    return concerns(attributes, 'core', 'services') && (operation === 'CREATE' || operation === 'UPDATE');
  }

  /** An update may keep and remove addresses. */
  validate(attributes: AdmissionAttributes): void {
    const old = new Set((attributes.oldObject as Service | undefined)?.spec?.externalIPs);
    const { externalIPs = [] } = (attributes.object as Service).spec ?? {};
    if (externalIPs.every((ip) => old.has(ip))) return;
    throw refusal(attributes, this.#dialect, 'Use of external IPs is denied by admission control');
  }
}

/** Refuses every write and every connection. 1.24 keeps the plugin only for tests and old configurations. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/plugin.js';

export class AlwaysDeny implements AdmissionPlugin {
  readonly name = 'AlwaysDeny';
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(): boolean {
    return true;
  }

  admit(attributes: AdmissionAttributes): void {
    this.validate(attributes);
  }

  validate(attributes: AdmissionAttributes): void {
    throw refusal(attributes, this.#dialect, 'admission control is denying all modifications');
  }
}

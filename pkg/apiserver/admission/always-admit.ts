/** Admits every request. 1.24 keeps the plugin only for old configurations. */
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';

export class AlwaysAdmit implements AdmissionPlugin {
  readonly name = 'AlwaysAdmit';

  handles(): boolean {
    return true;
  }

  admit(): void {}

  validate(): void {}
}

/** The CSIDriver objects of the API, read once a pod needs one. */
import { csidrivers } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver } from '#api/storage/v1/types.gen.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';

export class DriverObjects {
  readonly #informers: InformerFactory;
  #informer: Informer<CSIDriver> | undefined;

  constructor(informers: InformerFactory) {
    this.#informers = informers;
  }

  /** Undefined if the driver has no object. Waits for the first list. */
  async get(driver: string): Promise<CSIDriver | undefined> {
    this.#informer ??= this.#informers.informer(csidrivers);
    await this.#informer.whenSynced();
    return this.#informer.get(driver);
  }

  /** Like `get`, but undefined before the first list. */
  current(driver: string): CSIDriver | undefined {
    return this.#informer?.get(driver);
  }
}

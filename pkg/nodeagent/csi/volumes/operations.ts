/** Runs operations of drivers and gives their failures 1.24's texts. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { Drivers } from '#nodeagent/csi/driver/drivers.js';
import { type Effect, OperationError } from '#nodeagent/csi/driver/errors.js';
import type { NodeService } from '#nodeagent/csi/driver/node-service.js';

export class Operations {
  readonly #drivers: Pick<Drivers, 'operate'>;
  readonly #pluginName: string;

  constructor(drivers: Pick<Drivers, 'operate'>, pluginName: string) {
    this.#drivers = drivers;
    this.#pluginName = pluginName;
  }

  /** `failure`: begins the message if the driver is not registered. Throws CSIError, OperationError or a system error. */
  async run<T>(driver: string, failure: string, operation: (service: NodeService) => Promise<T>): Promise<T> {
    let isConnected = false;
    try {
      return await this.#drivers.operate(driver, (service) => {
        isConnected = true;
        return operation(service);
      });
    } catch (error) {
      if (isConnected) throw error;
      throw new OperationError(this.#text(failure, error), 'unstarted', { cause: error });
    }
  }

  /** Settles like a step of an operation; its failure has this message and effect. */
  async step<T>(step: Promise<T>, failure: string, effect: Effect = 'failed'): Promise<T> {
    try {
      return await step;
    } catch (error) {
      throw new OperationError(this.#text(failure, error), effect, { cause: error });
    }
  }

  /** A step before the driver changes anything; its failure leaves the volume as it was. */
  async before<T>(step: Promise<T>, failure?: string): Promise<T> {
    try {
      return await step;
    } catch (error) {
      const message = failure === undefined ? messageOf(error) : this.#text(failure, error);
      throw new OperationError(message, 'unstarted', { cause: error });
    }
  }

  #text(failure: string, error: unknown): string {
    return `${this.#pluginName}: ${failure}: ${messageOf(error)}`;
  }
}

/** The page's side of its worker. */
import type {
  Credentials,
  FromWorker,
  LiveSpecs,
  LiveState,
  LiveStates,
  LiveType,
  ToWorker,
  WhyRequest,
} from '#dashboard/model/messages.js';
import { RequestError } from '#dashboard/model/trouble.js';
import type { Answer } from '#insight/inquiry/finding.js';

export interface LiveHandle<T extends LiveType> {
  change(spec: LiveSpecs[T]): void;
  close(): void;
}

interface Inquirer {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class WorkerLink {
  readonly #worker: Worker;
  readonly #shown = new Map<number, (state: LiveState) => void>();
  readonly #inquirers = new Map<number, Inquirer>();
  #next = 1;

  constructor(credentials: Credentials, dialect: 'orch' | 'kubernetes') {
    this.#worker = new Worker(workerFile(), { type: 'module' });
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data);
    this.#post({ type: 'start', credentials, dialect });
  }

  show<T extends LiveType>(spec: LiveSpecs[T], onState: (state: LiveStates[T]) => void): LiveHandle<T> {
    const id = this.#next++;
    // The state of a subscription has the type of its specification.
    this.#shown.set(id, onState as (state: LiveState) => void);
    this.#post({ type: 'show', id, spec });
    return {
      change: (changed) => this.#post({ type: 'show', id, spec: changed }),
      close: () => {
        this.#shown.delete(id);
        this.#post({ type: 'end', id });
      },
    };
  }

  why(request: WhyRequest): Promise<Answer> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#inquirers.set(id, { resolve, reject });
      this.#post({ type: 'why', id, request });
    });
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromWorker): void {
    if (message.type === 'state') {
      this.#shown.get(message.id)?.(message.state);
      return;
    }
    const inquirer = this.#inquirers.get(message.id);
    this.#inquirers.delete(message.id);
    if (message.type === 'answer') inquirer?.resolve(message.answer);
    else inquirer?.reject(new RequestError(message.trouble.code, message.trouble.message));
  }
}

const file = '/ui/assets/worker.js';

interface ScriptPolicies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/** Browsers with trusted types start a worker only from an address that a policy has made. */
function workerFile(): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: ScriptPolicies };
  return trustedTypes?.createPolicy('worker', { createScriptURL: () => file }).createScriptURL(file) ?? file;
}

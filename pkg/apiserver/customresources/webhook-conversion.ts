/**
 * Conversion of custom objects by a webhook. It gets all objects of a request at once, in pieces of bounded size; its results
 * are pruned by the target version's schema and get no defaults, as in 1.24.
 */

import { pruneObject } from '#api/apiextensions/v1/customresource/pruning.js';
import type { CustomResourceConversion } from '#api/apiextensions/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { faultText, shapeFaults } from '#apimachinery/apply/schema-check.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import { inSteps } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { StoredForms } from '#apiserver/customresources/conversion.js';
import type { ConversionMetrics } from '#apiserver/customresources/conversion-metrics.js';
import {
  conversionText,
  convertedObjects,
  restored,
  WrongConversion,
  wrongText,
} from '#apiserver/customresources/conversion-review.js';
import type { CustomKind } from '#apiserver/customresources/custom-kind.js';
import { maxConversionBytes, maxTotalConversionBytes } from '#apiserver/customresources/exceeded-bounds.js';
import type { LargeViews } from '#apiserver/resources/large-views.js';
import type { RemoteConversion } from '#apiserver/resources/served-conversion.js';
import { kindText, reviewVersionOf } from '#apiserver/webhooks/review.js';
import type { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import type { Entry } from '#storage/resource-storage.js';

export interface ConversionWebhooks {
  readonly dialect: Dialect;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly newUID: () => string;
  readonly clock: Clock;
  readonly metrics: ConversionMetrics;
  readonly turns: Pick<TurnQueue, 'pause'>;
}

export interface WebhookConversionOptions extends ConversionWebhooks {
  readonly webhook: NonNullable<CustomResourceConversion['webhook']>;
  readonly kind: CustomKind;
  readonly forms: StoredForms;
  /** The served version. */
  readonly apiVersion: string;
}

interface Conversion {
  readonly targetVersion: string;
  readonly signal: AbortSignal;
  /** Failures name the object's index in the list. */
  readonly isList?: boolean;
}

/** Time limit of a call, as in 1.24. */
const timeoutMs = 30_000;
/** Limit of the objects in one review, unless a single one is larger; the answer may be as large as a request. */
const questionBytes = 4 * 1024 * 1024;
const maxAnswerBytes = 16 * 1024 * 1024;

export class WebhookConversion implements RemoteConversion {
  readonly kind = 'remote';
  readonly #options: WebhookConversionOptions;

  constructor(options: WebhookConversionOptions) {
    this.#options = options;
  }

  get views(): LargeViews {
    return this.#options.forms.views;
  }

  readonly pause = (): Promise<void> | undefined => this.#options.turns.pause();

  requireBounded(addedBytes: number, totalBytes: number): void {
    if (addedBytes <= maxConversionBytes && totalBytes <= maxTotalConversionBytes) return;
    const { kind, apiVersion } = this.#options;
    throw kind.exceeded(parseGroupVersion(apiVersion).version, 'conversion');
  }

  isAsStored(entry: Entry): boolean {
    return this.#options.forms.isCurrent(entry, this.#options.apiVersion);
  }

  async toStored(object: ApiObjectShape, signal: AbortSignal): Promise<ApiObjectShape> {
    const { kind } = this.#options;
    const targetVersion = kind.apiVersion(kind.storageVersion);
    const [converted] = await this.#converted([object], { targetVersion: targetVersion, signal });
    return converted ?? object;
  }

  async fromStored(stored: readonly ApiObjectShape[], signal: AbortSignal): Promise<readonly ApiObjectShape[]> {
    const { forms, apiVersion } = this.#options;
    const normalized: ApiObjectShape[] = [];
    for (const object of stored) {
      normalized.push(await inSteps(forms.normalized(object), this.pause));
      await this.pause();
    }
    return this.#converted(normalized, { targetVersion: apiVersion, signal, isList: normalized.length > 1 });
  }

  /** Converts between two versions. The results are not validated again, so they must have the shape of the version. */
  async between(
    objects: readonly ApiObjectShape[],
    apiVersion: string,
    signal: AbortSignal,
  ): Promise<readonly ApiObjectShape[]> {
    const converted = await this.#converted(objects, { targetVersion: apiVersion, signal });
    const type = this.#options.kind.version(parseGroupVersion(apiVersion).version)?.type;
    for (const [i, object] of converted.entries()) {
      const faults = type && object !== objects[i] ? shapeFaults(type, object as unknown as JsonObject) : [];
      if (faults.length === 0) continue;
      const about = kindText(objects[i]?.apiVersion, this.#options.kind.kind);
      throw failure(`conversion webhook for ${about} returned invalid object: ${faultText(faults)}`);
    }
    return converted;
  }

  /** Converts the objects that do not have the target version yet. */
  async #converted(
    objects: readonly ApiObjectShape[],
    { targetVersion, signal, isList = false }: Conversion,
  ): Promise<readonly ApiObjectShape[]> {
    const converted = [...objects];
    let places: number[] = [];
    let texts: string[] = [];
    let length = 0;
    const convert = async () => {
      const originals = places.map((place) => objects[place] as ApiObjectShape);
      const answers = await this.#measured(originals, targetVersion, () =>
        this.#ask(originals, texts, { targetVersion: targetVersion, signal, isList }),
      );
      answers.forEach((answer, i) => {
        converted[places[i] as number] = answer;
      });
      [places, texts, length] = [[], [], 0];
    };
    for (const [i, object] of objects.entries()) {
      if (object.apiVersion === targetVersion) continue;
      const text = toJSONText(object);
      if (length > 0 && length + text.length > questionBytes) await convert();
      places.push(i);
      texts.push(text);
      length += text.length;
      await this.pause();
    }
    if (places.length > 0) await convert();
    return converted;
  }

  async #measured<T>(objects: readonly ApiObjectShape[], targetVersion: string, work: () => Promise<T>): Promise<T> {
    const { clock, metrics, kind } = this.#options;
    const startedMs = clock.monotonic();
    const versionOf = (apiVersion: string | undefined) => parseGroupVersion(apiVersion ?? '').version;
    const labels = { definition: kind.name, from: versionOf(objects[0]?.apiVersion), to: versionOf(targetVersion) };
    const record = (succeeded: boolean) => metrics.converted({ ...labels, succeeded }, clock.monotonic() - startedMs);
    try {
      const result = await work();
      record(true);
      return result;
    } catch (error) {
      record(false);
      throw error;
    }
  }

  async #ask(
    originals: readonly ApiObjectShape[],
    objects: readonly string[],
    { targetVersion: desiredAPIVersion, signal, isList = false }: Conversion,
  ): Promise<readonly ApiObjectShape[]> {
    const { dialect, client, newUID, webhook, kind } = this.#options;
    const [first] = originals;
    const about = kindText(first?.apiVersion, isList ? kind.listKind : kind.kind);
    const version = reviewVersionOf(webhook.conversionReviewVersions ?? []);
    if (version === undefined) throw failure('no supported conversion review versions');
    const { clientConfig = {} } = webhook;
    const uid = newUID();
    let answers: readonly unknown[];
    try {
      const body = Buffer.from(conversionText(dialect, { uid, version, desiredAPIVersion, objects }));
      const answer = await client.post({ config: clientConfig, body, timeoutMs, cancellation: signal, maxAnswerBytes });
      answers = convertedObjects(dialect, answer, { version, uid });
    } catch (error) {
      // Report too many concurrent calls unchanged.
      if (error instanceof StatusError) throw error;
      throw failure(`conversion webhook for ${about} failed: ${messageOf(error)}`, error);
    }
    if (answers.length !== originals.length) {
      const counts = `${answers.length} objects, expected ${originals.length}`;
      throw failure(`conversion webhook for ${about} returned ${counts}`);
    }
    const converted: ApiObjectShape[] = [];
    for (const [i, original] of originals.entries()) {
      converted.push(this.#restored(original, answers[i], { desiredAPIVersion, about, index: isList ? i : undefined }));
      await this.pause();
    }
    return converted;
  }

  #restored(
    original: ApiObjectShape,
    answer: unknown,
    { desiredAPIVersion, about, index }: { desiredAPIVersion: string; about: string; index: number | undefined },
  ): ApiObjectShape {
    let object: ApiObjectShape;
    try {
      object = restored(original, answer, desiredAPIVersion);
    } catch (error) {
      if (!(error instanceof WrongConversion)) throw error;
      throw failure(`conversion webhook for ${about} returned ${wrongText(error, index)}`, error);
    }
    const schema = this.#options.kind.version(parseGroupVersion(desiredAPIVersion).version)?.schema;
    if (schema !== undefined) pruneObject(object, schema);
    return object;
  }
}

/** The error of a failed conversion; like 1.24's, it has no reason. */
function failure(message: string, cause?: unknown): StatusError {
  return new StatusError(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 },
    cause === undefined ? undefined : { cause },
  );
}

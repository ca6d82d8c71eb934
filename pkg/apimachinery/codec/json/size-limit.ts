/**
 * Limits the number of parts of a body. Its size in bytes says little about its cost: three megabytes may hold a
 * million empty messages, each of which is validated, defaulted and written again at ten times its size. No object that
 * fits into the store (1.5 MB, with a manager for each map entry) comes near these limits.
 */
import {
  closeBrace,
  closeBracket,
  colon,
  JSONCursor,
  openBrace,
  openBracket,
  quote,
} from '#apimachinery/codec/json/cursor.js';
import { badRequest, requestEntityTooLarge, type StatusError } from '#apimachinery/errors/status.js';

/** Messages, i.e. JSON objects. */
export const maxObjects = 100_000;
/** Members of all objects together. */
const maxMembers = 300_000;
/** Members of one object: the entries of a map. */
export const maxEntries = 64 * 1024;
/** Objects with more members are maps, which take longer than messages in each step of a write. */
const largeMap = 1000;
/** Entries of all such maps together: with managers each takes at least twenty bytes. */
export const maxMapEntries = 100_000;
/** Strings longer than one character, except names: the parser looks each up in its string table. */
const maxTexts = 150_000;

/** Far more than any decoder accepts. */
const maxDepth = 10_000;

/** Shorter texts cannot exceed the limits. */
const smallBytes = 256 * 1024;

/** 413 that names the exceeded limit. */
export function tooMany(parts: string, limit: number): StatusError {
  return requestEntityTooLarge(`limit is ${limit} ${parts}`);
}

/** Throws 413 for a list or map with too many elements, each of which may have its own manager. */
export function checkEntries(count: number): void {
  if (count > maxEntries) throw tooMany('elements of one list or map', maxEntries);
}

/** Throws 413 for JSON text with too many parts, and 400 for extreme nesting. The parser rejects invalid JSON later. */
export function checkSize(json: Buffer): void {
  if (json.length < smallBytes) return;
  const cursor = new JSONCursor(json);
  let objects = 0;
  let members = 0;
  /** Member counts of the objects around the current one. */
  const around: number[] = [];
  let own = 0;
  let lists = 0;
  let strings = 0;
  let isLong = false;
  let mapEntries = 0;
  for (let byte = cursor.advance(); byte >= 0; byte = cursor.advance()) {
    switch (byte) {
      case quote:
        isLong = cursor.at - cursor.start > 3;
        if (isLong && ++strings > maxTexts) throw tooMany('strings', maxTexts);
        break;
      case colon:
        // The string was a member name.
        if (isLong) strings--;
        if (++own > maxEntries) throw tooMany('members of one object', maxEntries);
        if (++members > maxMembers) throw tooMany('members of objects', maxMembers);
        break;
      case openBrace:
        if (++objects > maxObjects) throw tooMany('objects', maxObjects);
        around.push(own);
        own = 0;
        break;
      case openBracket:
        if (++lists + around.length > maxDepth) throw badRequest('json: exceeded max depth');
        break;
      case closeBracket:
        lists--;
        break;
      case closeBrace:
        if (own > largeMap) mapEntries += own;
        if (mapEntries > maxMapEntries) throw tooMany('entries of maps', maxMapEntries);
        own = around.pop() ?? 0;
        break;
    }
  }
}

/**
 * How many parts a body may have. Bytes alone say little of what an object costs: three megabytes may hold a million empty
 * messages, each of which is checked, given its defaults and written again at ten times its size. No object that a store
 * takes (1.5 MB, where each entry of a map also has a manager) comes near these.
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

/** Messages, that is objects of JSON. */
export const maxObjects = 100_000;
/** Members of all objects together. */
const maxMembers = 300_000;
/** Members of one object: the entries of a map. */
export const maxEntries = 64 * 1024;
/** Objects of more members are maps, of which each step of a write takes longer than of messages. */
const largeMap = 1000;
/** Entries of all such maps together: with their managers they take twenty bytes each at least. */
export const maxMapEntries = 100_000;
/** Strings of more than one character that name no member: the parser looks each up among those that it knows. */
const maxTexts = 150_000;

/** Far more than anybody who reads values allows. */
const maxDepth = 10_000;

/** Smaller texts have no room for too much. */
const smallBytes = 256 * 1024;

/** 413 that says of what there is too much. */
export function tooMany(parts: string, limit: number): StatusError {
  return requestEntityTooLarge(`limit is ${limit} ${parts}`);
}

/** Throws 413 for a list or a map of too many elements, each of which may have a manager of its own. */
export function checkEntries(count: number): void {
  if (count > maxEntries) throw tooMany('elements of one list or map', maxEntries);
}

/**
 * Throws 413 for a JSON text of too many parts, and 400 for one that nests absurdly deeply, before it is parsed. What is no JSON
 * passes: the parser refuses it.
 */
export function checkSize(json: Buffer): void {
  if (json.length < smallBytes) return;
  const cursor = new JSONCursor(json);
  let objects = 0;
  let members = 0;
  /** Members of the objects around the one that is being read. */
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
        // It was a name.
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

// Made by `busgen export typescript` from the catalogue of package events. Change the catalogue, not this file.
//
// A guard such as isParcelSent tells whether a value has the form of the type: its fields, their kinds, and the values of
// enums. Fields that are not known are allowed, and patterns, limits and formats are not checked. JSON.parse reads
// an integer beyond 2^53 as the nearest number: it loses digits.

export type Colour =
  | "red"
  | "dark-blue";

export function isColour(v: unknown): v is Colour {
  return (["red", "dark-blue"] as unknown[]).includes(v);
}

export type Level =
  /** low */
  | 1
  /** high: It is urgent. */
  | 2;

export function isLevel(v: unknown): v is Level {
  return ([1, 2] as unknown[]).includes(v);
}

/** Sku is the number of an article. */
export type Sku = string;

export function isSku(v: unknown): v is Sku {
  return typeof v === "string";
}

/** Box ends the comment: *\/ and goes on. */
export interface Box {
  size: number;
  in?: Box | null;
}

export function isBox(v: unknown): v is Box {
  return (
    record(v) &&
    Number.isInteger(v["size"]) &&
    (v["in"] == null || isBox(v["in"]))
  );
}

export interface Tube {
  length: number;
}

export function isTube(v: unknown): v is Tube {
  return (
    record(v) &&
    typeof v["length"] === "number"
  );
}

export type Parcel =
  | ({ kind: "box" } & Box)
  | ({ kind: "tube" } & Tube);

export function isParcel(v: unknown): v is Parcel {
  if (!record(v)) return false;
  switch (v["kind"]) {
    case "box":
      return isBox(v);
    case "tube":
      return isTube(v);
    default:
      return false;
  }
}

/** Published when it leaves. */
export interface ParcelSent {
  id: string;
  colour: Colour;
  level?: Level | null;
  sku: Sku;
  of: Parcel;
  notes: string[] | null;
  tags: { [key: string]: number[] | null };
  extra: unknown;
  raw?: unknown | null;
  /** @deprecated It always is. */
  gone: boolean | null;
}

export function isParcelSent(v: unknown): v is ParcelSent {
  return (
    record(v) &&
    typeof v["id"] === "string" &&
    isColour(v["colour"]) &&
    (v["level"] == null || isLevel(v["level"])) &&
    isSku(v["sku"]) &&
    isParcel(v["of"]) &&
    (v["notes"] === null || list(v["notes"], (e) => typeof e === "string")) &&
    map(v["tags"], (e) => (e === null || list(e, (e) => Number.isInteger(e)))) &&
    v["extra"] !== undefined &&
    (v["gone"] === null || typeof v["gone"] === "boolean")
  );
}

/** The payload of each event, by the name of the event. */
export interface Payloads {
  "parcel.sent": ParcelSent;
}

export type EventName = keyof Payloads;

/**
 * An event with its payload: type tells which one. A CloudEvent in JSON has these two, and more. If its source puts a
 * prefix before the names of its events, such as "com.example.", take that away first.
 */
export type AnyEvent = { [N in EventName]: { type: N; data: Payloads[N] } }[EventName];

/** The guard of each payload, by the name of the event. */
export const guards: { readonly [N in EventName]: (v: unknown) => v is Payloads[N] } = {
  "parcel.sent": isParcelSent,
};

export function isAnyEvent(v: unknown): v is AnyEvent {
  if (!record(v)) return false;
  const type = v["type"];
  if (typeof type !== "string" || !Object.hasOwn(guards, type)) return false;
  const guard: (v: unknown) => boolean = guards[type as EventName];
  return guard(v["data"]);
}

function record(v: unknown): v is { [key: string]: unknown } {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function list(v: unknown, of: (e: unknown) => boolean): boolean {
  return Array.isArray(v) && v.every(of);
}

function map(v: unknown, of: (e: unknown) => boolean): boolean {
  return record(v) && Object.values(v).every(of);
}

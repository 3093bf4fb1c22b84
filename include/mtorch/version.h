// SPDX-License-Identifier: Apache-2.0
/// @file version.h
/// Which libmtorch this is, and how its functions are declared.
#ifndef MTORCH_VERSION_H_
#define MTORCH_VERSION_H_

/// The version of these headers: semantic versioning. From 1.0 on, a program built against one
/// release runs with every later release of the same major version; before 1.0, of the same minor.
#define MT_VERSION_MAJOR 0
#define MT_VERSION_MINOR 1       ///< may change the interface while the major version is 0
#define MT_VERSION_PATCH 0       ///< changes neither source nor binary interface
#define MT_VERSION_TEXT "0.1.0"  ///< all three
/// One comparable number: `#if MT_VERSION >= MT_MAKE_VERSION(0, 2, 0)`.
#define MT_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define MT_VERSION MT_MAKE_VERSION(MT_VERSION_MAJOR, MT_VERSION_MINOR, MT_VERSION_PATCH)

/// Marks an exported function. Programs linked with the static library define MT_STATIC.
#if defined(_WIN32) && !defined(MT_STATIC)
#ifdef MT_BUILDING
#define MT_API __declspec(dllexport)
#else
#define MT_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define MT_API __attribute__((visibility("default")))
#else
#define MT_API
#endif

/// Marks a function that a later major version will drop; `advice` names its replacement.
#if defined(__GNUC__)
#define MT_DEPRECATED(advice) __attribute__((deprecated(advice)))
#elif defined(_MSC_VER)
#define MT_DEPRECATED(advice) __declspec(deprecated(advice))
#else
#define MT_DEPRECATED(advice)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library that runs, as MT_VERSION counts it.
MT_API int mt_version(void);
/// The same as text, "0.1.0". Belongs to the library.
MT_API const char* mt_version_text(void);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/error.h, and the thread's first error behind them.
#include "mtorch/error.h"

#include <cctype>
#include <cstdio>
#include <cstring>
#include <new>

#include "api/guard.h"

namespace mt::api {
namespace {

// Kept in place: an error must be reportable when memory has run out.
constexpr size_t message_size = 2048;
thread_local char message[message_size];

// How many of the first `most` bytes are whole UTF-8 characters. Whoever wrote the text may have
// cut its last one, too.
size_t whole_characters(const char* text, size_t most) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = strnlen(text, most);
  size_t last = length;  // where the last one begins
  while (last > 0 && (byte(last - 1) & 0xC0) == 0x80) --last;
  if (last == 0) return length;
  --last;
  const size_t size = byte(last) < 0xC0 ? 1 : byte(last) < 0xE0 ? 2 : byte(last) < 0xF0 ? 3 : 4;
  return last + size > length ? last : length;
}

void keep_message(const char* text) {
  const size_t length = whole_characters(text, message_size - 1);
  std::memmove(message, text, length);  // perhaps what an earlier error has left there
  message[length] = 0;
}

mt_status keep_named(mt_status code, const char* name, const char* what) noexcept {
  char text[message_size];
  std::snprintf(text, sizeof text, "%s: %s", name, what);
  return keep_error(code, text);
}

// Without the operator's name that it begins with, if it does.
const char* without_name(const char* text) {
  const char* end = text;
  while (std::isalnum(static_cast<unsigned char>(*end)) || *end == '_') ++end;
  return end > text && end[0] == ':' && end[1] == ' ' ? end + 2 : text;
}

// Whether it is for the arguments, which are the function's whatever operator looked at them.
bool blames_arguments(Code code) {
  return code == Code::shape || code == Code::dtype || code == Code::index ||
         code == Code::device || code == Code::invalid;
}

}  // namespace

void fail_null(const char* what) { throw NullArgument{what}; }

mt_status keep_error(mt_status code, const char* text) noexcept {
  if (current_thread().error == MT_OK) {
    current_thread().error = code;
    keep_message(text);
  }
  return current_thread().error;
}

mt_status keep_exception(const char* name, bool names_all) noexcept {
  try {
    throw;
  } catch (const ArgumentError& error) {
    return keep_named(static_cast<mt_status>(error.code()), name, error.what());
  } catch (const Error& error) {
    const char* rest = without_name(error.what());
    if (rest == error.what() || (names_all && blames_arguments(error.code()))) {
      return keep_named(static_cast<mt_status>(error.code()), name, rest);
    }
    return keep_error(static_cast<mt_status>(error.code()), error.what());
  } catch (const NullArgument& argument) {
    char text[256];
    std::snprintf(text, sizeof text, "%s: %s is NULL", name, argument.what);
    return keep_error(MT_ENULL, text);
  } catch (const std::bad_alloc&) {
    return keep_named(MT_ENOMEM, name, "out of memory");
  } catch (const std::exception& exception) {
    return keep_named(MT_EINVAL, name, exception.what());
  } catch (...) {
    return keep_named(MT_EINVAL, name, "an unknown exception");
  }
}

}  // namespace mt::api

using mt::current_thread;

mt_status mt_error(void) { return current_thread().error; }

const char* mt_error_message(void) {
  return current_thread().error == MT_OK ? "" : mt::api::message;
}

void mt_clear(void) { current_thread().error = MT_OK; }

mt_status mt_set_error(mt_status code, const char* message) {
  if (code > MT_EINVAL || code < MT_EUNSUPPORTED) code = MT_EUSER;
  return mt::api::keep_error(code, message ? message : "");
}

const char* mt_status_name(mt_status code) {
  switch (code) {
    case MT_OK: return "MT_OK";
    case MT_EINVAL: return "MT_EINVAL";
    case MT_ESHAPE: return "MT_ESHAPE";
    case MT_EDTYPE: return "MT_EDTYPE";
    case MT_ENOMEM: return "MT_ENOMEM";
    case MT_EDEVICE: return "MT_EDEVICE";
    case MT_EUSER: return "MT_EUSER";
    case MT_ENULL: return "MT_ENULL";
    case MT_ENOGRAD: return "MT_ENOGRAD";
    case MT_EIO: return "MT_EIO";
    case MT_EINDEX: return "MT_EINDEX";
    case MT_ETRACE: return "MT_ETRACE";
    case MT_EUNSUPPORTED: return "MT_EUNSUPPORTED";
    default: return "unknown";
  }
}
